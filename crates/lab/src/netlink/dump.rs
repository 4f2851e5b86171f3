//! What the kernel lists of a namespace: all devices with their counters, and the queue in front of each.

use super::Socket;
use super::socket::acknowledged;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, Stats64};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use tare_network::Error;

/// A device's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Its index in its namespace.
    pub(crate) index: u32,
    /// Its name.
    pub(crate) name: String,
    /// All that it counts.
    pub(crate) stats: Stats64,
}

/// The queue in front of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// The device's index.
    pub(crate) device: u32,
    /// What kind of queue: `tbf`, `fq_codel`.
    pub(crate) kind: String,
    /// What passed it.
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// What it dropped.
    pub(crate) drops: u32,
    /// What had to wait for its rate.
    pub(crate) overlimits: u32,
    /// What the device did not take at once.
    pub(crate) requeues: u32,
    /// Bytes that wait.
    pub(crate) backlog: u32,
}

impl Socket {
    /// All devices.
    pub(crate) fn devices(&mut self) -> Result<Vec<Counted>, Error> {
        let mut devices = Vec::new();
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
            if let RouteNetlinkMessage::NewLink(link) = message {
                devices.extend(counted(&link));
            }
        })?;
        Ok(devices)
    }

    /// The outermost queue of every device: what is inside of it is counted by it, too.
    pub(crate) fn queues(&mut self) -> Result<Vec<Queue>, Error> {
        let mut queues = Vec::new();
        self.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), |message| {
            if let RouteNetlinkMessage::NewQueueDiscipline(queue) = message
                && queue.header.parent == TcHandle::ROOT
            {
                queues.push(described(&queue));
            }
        })?;
        Ok(queues)
    }

    /// Asks for a list, and hands over each piece of it.
    fn dump(
        &mut self,
        what: RouteNetlinkMessage,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<(), Error> {
        let failed = |error| Error::new("list devices and queues", error);
        self.send(what, NLM_F_REQUEST | NLM_F_DUMP).map_err(failed)?;
        let mut outcome = None;
        while outcome.is_none() {
            self.receive(|message| {
                match message.payload {
                    NetlinkPayload::InnerMessage(piece) => each(piece),
                    NetlinkPayload::Done(_) => outcome = Some(Ok(())),
                    NetlinkPayload::Error(answer) => {
                        outcome = Some(acknowledged(&answer).map_err(failed));
                    }
                    _ => {}
                }
                Ok(())
            })?;
        }
        outcome.unwrap_or(Ok(()))
    }
}

pub(super) fn counted(link: &LinkMessage) -> Option<Counted> {
    let name = link.attributes.iter().find_map(|one| match one {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let stats = link.attributes.iter().find_map(|one| match one {
        LinkAttribute::Stats64(stats) => Some(*stats),
        _ => None,
    })?;
    Some(Counted { index: link.header.index, name, stats })
}

pub(super) fn described(message: &TcMessage) -> Queue {
    let mut queue = Queue { device: message.header.index.cast_unsigned(), ..Queue::default() };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => queue.kind.clone_from(kind),
            TcAttribute::Stats2(parts) => parts.iter().for_each(|part| add(&mut queue, part)),
            _ => {}
        }
    }
    queue
}

fn add(queue: &mut Queue, part: &TcStats2) {
    match part {
        TcStats2::Basic(basic) => (queue.packets, queue.bytes) = (basic.packets, basic.bytes),
        TcStats2::Queue(stats) => {
            (queue.drops, queue.overlimits) = (stats.drops, stats.overlimits);
            (queue.requeues, queue.backlog) = (stats.requeues, stats.backlog);
        }
        _ => {}
    }
}
