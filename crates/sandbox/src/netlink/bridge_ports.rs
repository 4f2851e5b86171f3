//! Ports of a bridge: how many it has, and how many the kernel gives it.

use super::link::push_link_info;
use super::{CREATE, NetlinkSocket};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkMessage};
use std::io;
use std::ops::Range;
use tare_network::Error;

/// Group of the devices that fill a bridge, by which all are deleted at once: a namespace of tare's has no other group.
const FILLING: u32 = 1;

impl NetlinkSocket {
    /// Adds ports to a bridge until the kernel refuses one, or until there are `most`. Returns the number of ports that
    /// the bridge has then. The ports are veth pairs without a link; they are deleted again.
    ///
    /// # Errors
    /// There is no such bridge, or the kernel refuses for another reason than the number of ports (`EXFULL`).
    pub(crate) fn fill_bridge(&mut self, bridge: &str, most: u32) -> Result<u32, Error> {
        let failed =
            |why: &dyn ToString| Error::new(format!("fill the bridge {bridge}"), why.to_string());
        let device = self.device(bridge)?.ok_or_else(|| failed(&"there is no such device"))?;
        let before = self.count_ports(device.index)?;
        let filled = self.add_ports(device.index, before..most);
        let ports = self.count_ports(device.index)?;
        if ports > before {
            let deleted = self.acknowledged(RouteNetlinkMessage::DelLink(filling_devices()), 0);
            deleted.map_err(|error| failed(&error))?;
        }
        filled.map(|()| ports).map_err(|error| failed(&error))
    }

    /// Adds a port to a bridge for each of these numbers, until the kernel refuses one because the bridge is full.
    fn add_ports(&mut self, bridge: u32, numbers: Range<u32>) -> io::Result<()> {
        for _ in numbers {
            match self.acknowledged(RouteNetlinkMessage::NewLink(port(bridge)), CREATE) {
                Err(error) if error.raw_os_error() == Some(libc::EXFULL) => break,
                added => added?,
            }
        }
        Ok(())
    }

    /// Returns the number of devices that are attached to a bridge.
    fn count_ports(&mut self, bridge: u32) -> Result<u32, Error> {
        let mut ports = 0;
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
            let attached = LinkAttribute::Controller(bridge);
            if let RouteNetlinkMessage::NewLink(link) = message {
                ports += u32::from(link.attributes.contains(&attached));
            }
        })?;
        Ok(ports)
    }
}

/// Returns the message that creates a veth pair, down, with one end attached to a bridge. The kernel names both ends.
fn port(bridge: u32) -> LinkMessage {
    let one_queue = || [LinkAttribute::NumTxQueues(1), LinkAttribute::NumRxQueues(1)];
    let mut peer = LinkMessage::default();
    peer.attributes.extend(one_queue());
    let mut link = LinkMessage::default();
    link.attributes.extend(one_queue());
    link.attributes.push(LinkAttribute::Group(FILLING));
    link.attributes.push(LinkAttribute::Controller(bridge));
    push_link_info(&mut link, InfoKind::Veth, InfoData::Veth(InfoVeth::Peer(peer)));
    link
}

/// Returns the message that names all devices that fill a bridge. A pair goes with one of its ends.
fn filling_devices() -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::Group(FILLING));
    link
}
