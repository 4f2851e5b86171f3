//! netkit pairs (drivers/net/netkit.c). The near end is the primary one.

use super::DevicePairKind;
use netlink_packet_route::link::{InfoData, InfoKind, InfoNetkit, LinkMessage, NetkitMode};
use tare_network::HopKind;

/// netkit pair that carries frames, not bare packets: for bridges and containers it is like a veth pair.
#[derive(Clone, Copy, Debug)]
pub struct Netkit;

impl DevicePairKind for Netkit {
    fn name(&self) -> &'static str {
        "netkit"
    }

    fn hop_kind(&self) -> HopKind {
        HopKind::Device
    }

    fn detail(&self) -> Option<&'static str> {
        Some("netkit, L2")
    }

    fn link_info(&self, far: LinkMessage) -> (InfoKind, InfoData) {
        let data = vec![InfoNetkit::Mode(NetkitMode::L2), InfoNetkit::Peer(far)];
        (InfoKind::Netkit, InfoData::Netkit(data))
    }
}
