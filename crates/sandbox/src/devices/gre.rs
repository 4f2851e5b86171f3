//! GRE: IP in GRE in IPv4 (RFC 2784), to one other node.

use super::{ChildDeviceKind, ParentRole};
use netlink_packet_route::link::{InfoData, InfoGre, InfoKind};
use std::net::Ipv4Addr;

/// GRE device.
#[derive(Clone, Copy, Debug)]
pub struct Gre {
    /// Local address.
    pub local: Ipv4Addr,
    /// Remote address.
    pub remote: Ipv4Addr,
}

impl ChildDeviceKind for Gre {
    fn link_info(&self, parent: u32) -> (InfoKind, InfoData) {
        let data = vec![
            InfoGre::Local(self.local),
            InfoGre::Remote(self.remote),
            InfoGre::PathMTUDiscovery(true),
            InfoGre::Link(parent),
        ];
        (InfoKind::GreTun, InfoData::GreTun(data))
    }

    fn words(&self, parent: &str) -> String {
        let Self { local, remote } = self;
        format!("gre local {local} remote {remote} dev {parent} pmtudisc")
    }

    fn parent_role(&self) -> ParentRole {
        ParentRole::Underlay
    }
}
