//! Lists that the kernel gives of a namespace: all devices with their counters, and their queues.

use super::socket::parse_ack;
use super::{NetlinkSocket, raw};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, Stats64};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use std::io;
use tare_network::Error;

/// `RTM_NEWSTATS` and `RTM_GETSTATS`.
const NEW_STATS: u16 = 92;
const GET_STATS: u16 = 94;
/// `IFLA_STATS_LINK_64`, and its bit in a filter.
const LINK_64: u16 = 1;
const LINK_FILTER: u32 = 1;
/// Size of `struct if_stats_msg`, bytes.
const STATS_HEADER: usize = 12;

/// Counters of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceStats {
    /// Index of the device in its namespace.
    pub index: u32,
    /// Name of the device.
    pub name: String,
    /// All counters of the device.
    pub stats: Stats64,
}

/// Counters of the queue of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QdiscStats {
    /// Index of the device.
    pub device: u32,
    /// Kind of queue: `tbf`, `fq_codel`.
    pub kind: String,
    /// Packets that passed the queue.
    pub packets: u32,
    /// Bytes that passed the queue.
    pub bytes: u64,
    /// Packets that the queue dropped.
    pub drops: u32,
    /// Packets that waited for the rate.
    pub overlimits: u32,
    /// Packets that the device did not accept at once.
    pub requeues: u32,
    /// Bytes that wait.
    pub backlog: u32,
}

impl NetlinkSocket {
    /// Returns the counters of all devices.
    pub(crate) fn devices(&mut self) -> Result<Vec<DeviceStats>, Error> {
        let mut devices = Vec::new();
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
            if let RouteNetlinkMessage::NewLink(link) = message {
                devices.extend(device_stats(&link));
            }
        })?;
        Ok(devices)
    }

    /// Returns the counters of all devices by their index. The answer has a sixth of the bytes of that to
    /// [`NetlinkSocket::devices`], which describes each device in full, and takes the kernel an eighth of the time.
    pub(crate) fn device_counters(&mut self) -> Result<Vec<(u32, Stats64)>, Error> {
        let failed = |error| Error::new("list the counters of devices", error);
        // Any device (struct if_stats_msg, linux/if_link.h); the filter selects the counters of the link.
        let body = [0, 0, LINK_FILTER].map(u32::to_ne_bytes).concat();
        self.send_bytes(&raw::dump_request(GET_STATS, &body)).map_err(failed)?;
        let mut counters = Vec::new();
        loop {
            if parse_device_counters(&self.receive_bytes()?, &mut counters).map_err(failed)? {
                return Ok(counters);
            }
        }
    }

    /// Returns the counters of the outermost queue of every device. They include those of the queues inside it.
    pub(crate) fn queues(&mut self) -> Result<Vec<QdiscStats>, Error> {
        let mut queues = Vec::new();
        self.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), |message| {
            if let RouteNetlinkMessage::NewQueueDiscipline(queue) = message
                && queue.header.parent == TcHandle::ROOT
            {
                queues.push(qdisc_stats(&queue));
            }
        })?;
        Ok(queues)
    }

    /// Requests a list, and passes each message of it to `each`.
    pub(super) fn dump(
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
                        outcome = Some(parse_ack(&answer).map_err(failed));
                    }
                    _ => {}
                }
                Ok(())
            })?;
        }
        outcome.unwrap_or(Ok(()))
    }
}

/// Parses the counters of devices in one received buffer. Returns `true` if the list ends with it.
pub(super) fn parse_device_counters(
    bytes: &[u8],
    counters: &mut Vec<(u32, Stats64)>,
) -> io::Result<bool> {
    for (kind, body) in raw::messages(bytes) {
        match kind {
            raw::DONE => return Ok(true),
            raw::ERROR => return Err(io::Error::other("the kernel refused the list")),
            NEW_STATS => counters.extend(device_counter(body)),
            _ => {}
        }
    }
    Ok(false)
}

/// Parses the index and the counters of one device.
fn device_counter(body: &[u8]) -> Option<(u32, Stats64)> {
    let index = u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?);
    let mut attributes = raw::attributes(body.get(STATS_HEADER..)?);
    let (_, counters) = attributes.find(|(kind, _)| *kind == LINK_64)?;
    Some((index, Stats64::parse(counters).ok()?))
}

pub(super) fn device_stats(link: &LinkMessage) -> Option<DeviceStats> {
    let name = link.attributes.iter().find_map(|one| match one {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let stats = link.attributes.iter().find_map(|one| match one {
        LinkAttribute::Stats64(stats) => Some(*stats),
        _ => None,
    })?;
    Some(DeviceStats { index: link.header.index, name, stats })
}

pub(super) fn qdisc_stats(message: &TcMessage) -> QdiscStats {
    let mut queue =
        QdiscStats { device: message.header.index.cast_unsigned(), ..QdiscStats::default() };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => queue.kind.clone_from(kind),
            TcAttribute::Stats2(parts) => parts.iter().for_each(|part| add(&mut queue, part)),
            _ => {}
        }
    }
    queue
}

fn add(queue: &mut QdiscStats, part: &TcStats2) {
    match part {
        TcStats2::Basic(basic) => (queue.packets, queue.bytes) = (basic.packets, basic.bytes),
        TcStats2::Queue(stats) => {
            (queue.drops, queue.overlimits) = (stats.drops, stats.overlimits);
            (queue.requeues, queue.backlog) = (stats.requeues, stats.backlog);
        }
        _ => {}
    }
}
