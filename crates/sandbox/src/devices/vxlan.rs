//! VXLAN: Ethernet in UDP (RFC 7348). Forwarding entries define the node for each address.

use super::{ChildDeviceKind, ParentRole};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVxlan};
use std::net::Ipv4Addr;

/// VXLAN device. Its underlay is IPv4.
#[derive(Clone, Copy, Debug)]
pub struct Vxlan {
    /// Identifier of the virtual network.
    pub id: u32,
    /// Local address.
    pub local: Ipv4Addr,
    /// UDP port, both source and destination.
    pub port: u16,
    /// Handling of neighbour queries.
    pub proxy: NeighbourProxy,
}

/// Handling of neighbour queries by a VXLAN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourProxy {
    /// The device answers queries for known neighbours itself.
    Answers,
    /// The device does not answer queries.
    Silent,
}

impl ChildDeviceKind for Vxlan {
    fn link_info(&self, parent: u32) -> (InfoKind, InfoData) {
        let data = vec![
            InfoVxlan::Id(self.id),
            InfoVxlan::Local(self.local),
            InfoVxlan::Port(self.port),
            InfoVxlan::Learning(false),
            InfoVxlan::Proxy(self.proxy == NeighbourProxy::Answers),
            InfoVxlan::Link(parent),
        ];
        (InfoKind::Vxlan, InfoData::Vxlan(data))
    }

    fn words(&self, parent: &str) -> String {
        let Self { id, local, port, proxy } = self;
        let proxy = if *proxy == NeighbourProxy::Answers { " proxy" } else { "" };
        format!("vxlan id {id} local {local} dev {parent} dstport {port} nolearning{proxy}")
    }

    fn parent_role(&self) -> ParentRole {
        ParentRole::Underlay
    }
}
