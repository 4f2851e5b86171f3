//! VLAN: a device for the frames of a parent that carry a tag (IEEE 802.1Q).

use super::ChildDeviceKind;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVlan};

/// VLAN device.
#[derive(Clone, Copy, Debug)]
pub struct Vlan {
    /// VLAN identifier of the tag.
    pub id: u16,
}

impl ChildDeviceKind for Vlan {
    fn link_info(&self, _: u32) -> (InfoKind, InfoData) {
        (InfoKind::Vlan, InfoData::Vlan(vec![InfoVlan::Id(self.id)]))
    }

    fn words(&self, _: &str) -> String {
        format!("vlan id {}", self.id)
    }
}
