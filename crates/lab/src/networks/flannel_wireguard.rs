//! `flannel-wireguard`: flannel with its WireGuard backend, the kernel's implementation with keys exchanged through
//! etcd.

use super::flannel::FlannelNetwork;
use crate::flannel::FlannelBackend;

pub(super) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-wireguard",
    summary: "flannel: a bridge on each node, and the kernel's WireGuard between them that flanneld sets up",
    backend: FlannelBackend::Wireguard,
};
