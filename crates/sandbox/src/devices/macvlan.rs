//! macvlan: a second device on a parent, with a link-layer address of its own (ip-link(8)).

use super::ChildDeviceKind;
use netlink_packet_route::link::{InfoData, InfoKind, InfoMacVlan, MacVlanMode};

/// macvlan device in bridge mode: the devices of one parent reach each other directly.
#[derive(Clone, Copy, Debug)]
pub struct Macvlan;

impl ChildDeviceKind for Macvlan {
    fn link_info(&self, _: u32) -> (InfoKind, InfoData) {
        (InfoKind::MacVlan, InfoData::MacVlan(vec![InfoMacVlan::Mode(MacVlanMode::Bridge)]))
    }

    fn words(&self, _: &str) -> String {
        "macvlan mode bridge".to_owned()
    }
}
