//! `flannel-udp`: flannel with its UDP backend: flanneld itself carries every packet.

use super::flannel::Flannel;
use crate::flannel::Backend;

/// The network.
pub(super) const NETWORK: Flannel = Flannel {
    name: "flannel-udp",
    summary: "flannel: a bridge on each node, and flanneld itself in userspace between them",
    backend: Backend::Udp,
};
