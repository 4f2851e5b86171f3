//! `flannel-wireguard`: flannel with its WireGuard backend, the kernel's implementation with keys exchanged through
//! etcd.

use crate::networks::flannel::FlannelNetwork;
use crate::networks::flannel::flanneld::FlannelBackend;

pub(crate) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-wireguard",
    summary: "flannel: a bridge on each node, and the kernel's WireGuard between them that flanneld sets up",
    backend: FlannelBackend::Wireguard,
};
