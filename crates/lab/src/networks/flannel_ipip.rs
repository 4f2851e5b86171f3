//! `flannel-ipip`: flannel with its IP-in-IP backend.

use super::flannel::Flannel;
use crate::flannel::Backend;

/// The network.
pub(super) const NETWORK: Flannel = Flannel {
    name: "flannel-ipip",
    summary: "flannel: a bridge on each node, and IP-in-IP between them that flanneld sets up",
    backend: Backend::Ipip,
};
