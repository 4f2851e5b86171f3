//! Permanent neighbour entries.

use crate::NamespaceChange;
use crate::netlink::{DeviceRef, MacAddress, NetlinkRequest, family};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use std::net::IpAddr;

/// Permanent neighbour entry to add. Permanent neighbours do not count against the machine-wide limit (`gc_thresh3`).
#[derive(Clone, Copy, Debug)]
pub struct NewNeighbour<'a> {
    /// Device by which the neighbour is reached.
    pub device: DeviceRef<'a>,
    /// IP address of the neighbour.
    pub address: IpAddr,
    /// Link-layer address of the neighbour.
    pub mac: MacAddress,
}

impl NamespaceChange for NewNeighbour<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let mut message = NeighbourMessage::default();
        message.header.family = family(self.address);
        message.header.ifindex = self.device.index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(self.address.into()),
            NeighbourAttribute::LinkLayerAddress(self.mac.bytes().to_vec()),
        ];
        NetlinkRequest {
            what: format!("add the neighbour {} in {place}", self.address),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    fn command(&self, place: &str) -> String {
        let Self { device, address, mac } = self;
        let device = device.name;
        format!("ip -n {place} neighbour replace {address} lladdr {mac} nud permanent dev {device}")
    }
}
