//! IPIP: IPv4 in IPv4 (RFC 2003), to one other node.

use super::{ChildDeviceKind, ParentRole};
use netlink_packet_route::link::{InfoData, InfoIpTunnel, InfoKind};
use std::net::Ipv4Addr;

/// IPIP device.
#[derive(Clone, Copy, Debug)]
pub struct Ipip {
    /// Local address.
    pub local: Ipv4Addr,
    /// Remote address.
    pub remote: Ipv4Addr,
}

impl ChildDeviceKind for Ipip {
    fn link_info(&self, parent: u32) -> (InfoKind, InfoData) {
        let data = vec![
            InfoIpTunnel::Local(self.local.into()),
            InfoIpTunnel::Remote(self.remote.into()),
            InfoIpTunnel::PMtuDisc(true),
            InfoIpTunnel::Link(parent),
        ];
        (InfoKind::IpIp, InfoData::IpTunnel(data))
    }

    fn words(&self, parent: &str) -> String {
        let Self { local, remote } = self;
        format!("ipip local {local} remote {remote} dev {parent} pmtudisc")
    }

    fn parent_role(&self) -> ParentRole {
        ParentRole::Underlay
    }
}
