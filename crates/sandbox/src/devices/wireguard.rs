//! WireGuard: IP in encrypted UDP, to the peers that are configured on the device.

use super::{ChildDeviceKind, ParentRole};
use netlink_packet_route::link::{InfoData, InfoKind};

/// WireGuard device. Routes decide by which device its packets leave; wg(8) configures its peers.
#[derive(Clone, Copy, Debug)]
pub struct Wireguard;

impl ChildDeviceKind for Wireguard {
    fn link_info(&self, _: u32) -> (InfoKind, InfoData) {
        (InfoKind::Wireguard, InfoData::Other(Vec::new()))
    }

    fn words(&self, _: &str) -> String {
        "wireguard".to_owned()
    }

    fn parent_role(&self) -> ParentRole {
        ParentRole::Underlay
    }
}
