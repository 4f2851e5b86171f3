//! Geneve: Ethernet in UDP (RFC 8926), to one other node.

use super::{ChildDeviceKind, ParentRole};
use netlink_packet_route::link::{InfoData, InfoGeneve, InfoKind};
use std::net::Ipv4Addr;

/// Geneve device. Its underlay is IPv4; routes decide by which device its packets leave.
#[derive(Clone, Copy, Debug)]
pub struct Geneve {
    /// Identifier of the virtual network.
    pub id: u32,
    /// Remote address.
    pub remote: Ipv4Addr,
}

impl ChildDeviceKind for Geneve {
    fn link_info(&self, _: u32) -> (InfoKind, InfoData) {
        let data = vec![InfoGeneve::Id(self.id), InfoGeneve::Remote(self.remote)];
        (InfoKind::Geneve, InfoData::Geneve(data))
    }

    fn words(&self, _: &str) -> String {
        let Self { id, remote } = self;
        format!("geneve id {id} remote {remote}")
    }

    fn parent_role(&self) -> ParentRole {
        ParentRole::Underlay
    }
}
