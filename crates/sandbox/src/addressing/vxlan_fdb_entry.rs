//! Permanent forwarding entries of VXLAN devices.

use crate::NamespaceChange;
use crate::netlink::{DeviceRef, MacAddress, NetlinkRequest};
use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::Ipv4Addr;

/// Permanent entry to add to a VXLAN device: the link-layer address is behind the given node.
#[derive(Clone, Copy, Debug)]
pub struct NewVxlanFdbEntry<'a> {
    /// VXLAN device.
    pub device: DeviceRef<'a>,
    /// Link-layer address.
    pub mac: MacAddress,
    /// Address of the node.
    pub remote: Ipv4Addr,
}

impl NamespaceChange for NewVxlanFdbEntry<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let Self { device, mac, remote } = *self;
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = device.index;
        message.header.state = NeighbourState::Permanent;
        message.header.flags = NeighbourFlags::Own;
        message.attributes = vec![
            NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec()),
            NeighbourAttribute::Destination(NeighbourAddress::Inet(remote)),
        ];
        NetlinkRequest {
            what: format!("add the forwarding entry {mac} to {remote} in {place}"),
            flags: NLM_F_CREATE | NLM_F_APPEND,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    fn command(&self, place: &str) -> String {
        let Self { device, mac, remote } = self;
        let device = device.name;
        format!("bridge -n {place} fdb append {mac} dev {device} dst {remote} self permanent")
    }
}
