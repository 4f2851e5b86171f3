//! veth pairs (veth(4)).

use super::DevicePairKind;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkMessage};
use tare_network::HopKind;

/// veth pair.
#[derive(Clone, Copy, Debug)]
pub struct Veth;

impl DevicePairKind for Veth {
    fn name(&self) -> &'static str {
        "veth"
    }

    fn hop_kind(&self) -> HopKind {
        HopKind::Veth
    }

    fn link_info(&self, far: LinkMessage) -> (InfoKind, InfoData) {
        (InfoKind::Veth, InfoData::Veth(InfoVeth::Peer(far)))
    }
}
