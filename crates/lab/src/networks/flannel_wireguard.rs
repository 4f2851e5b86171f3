//! `flannel-wireguard`: flannel with its WireGuard backend: the kernel's, with keys that go through etcd.

use super::flannel::Flannel;
use crate::flannel::Backend;

/// The network.
pub(super) const NETWORK: Flannel = Flannel {
    name: "flannel-wireguard",
    summary: "flannel: a bridge on each node, and the kernel's WireGuard between them that flanneld sets up",
    backend: Backend::Wireguard,
};
