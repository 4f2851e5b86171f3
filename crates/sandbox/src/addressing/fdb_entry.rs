//! Static entries in the forwarding database of a bridge.

use crate::NamespaceChange;
use crate::netlink::{DeviceRef, MacAddress, NetlinkRequest};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

/// Static entry to add: the address is behind a port of a bridge (bridge(8), fdb).
#[derive(Clone, Copy, Debug)]
pub struct NewFdbEntry<'a> {
    /// Device that is attached to the bridge.
    pub port: DeviceRef<'a>,
    /// Link-layer address.
    pub mac: MacAddress,
}

impl NamespaceChange for NewFdbEntry<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let Self { port, mac } = self;
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = port.index;
        message.header.state = NeighbourState::Noarp;
        message.header.flags = NeighbourFlags::Controller;
        message.attributes = vec![NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec())];
        let port = port.name;
        NetlinkRequest {
            what: format!("add the forwarding entry {mac} at the bridge port {port} in {place}"),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    fn command(&self, place: &str) -> String {
        format!("bridge -n {place} fdb replace {} dev {} master static", self.mac, self.port.name)
    }
}
