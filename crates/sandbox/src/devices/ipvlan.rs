//! ipvlan: a second device on a parent, with the parent's link-layer address (Documentation/networking/ipvlan.rst).

use super::ChildDeviceKind;
use netlink_packet_route::link::{InfoData, InfoIpVlan, InfoKind, IpVlanMode};

/// Mode in which ipvlan devices handle packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpvlanMode {
    /// The devices switch frames. All have the parent's link-layer address, and their IP addresses distinguish them.
    L2,
    /// The devices route packets, without neighbour discovery.
    L3,
}

/// ipvlan device.
#[derive(Clone, Copy, Debug)]
pub struct Ipvlan(
    /// Mode in which the device handles packets.
    pub IpvlanMode,
);

impl ChildDeviceKind for Ipvlan {
    fn link_info(&self, _: u32) -> (InfoKind, InfoData) {
        let mode = match self.0 {
            IpvlanMode::L2 => IpVlanMode::L2,
            IpvlanMode::L3 => IpVlanMode::L3,
        };
        (InfoKind::IpVlan, InfoData::IpVlan(vec![InfoIpVlan::Mode(mode)]))
    }

    fn words(&self, _: &str) -> String {
        match self.0 {
            IpvlanMode::L2 => "ipvlan mode l2".to_owned(),
            IpvlanMode::L3 => "ipvlan mode l3".to_owned(),
        }
    }
}
