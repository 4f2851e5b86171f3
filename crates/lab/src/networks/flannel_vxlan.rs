//! `flannel-vxlan`: flannel with its VXLAN backend, the one that it is mostly run with.

use super::flannel::Flannel;
use crate::flannel::Backend;

/// The network.
pub(super) const NETWORK: Flannel = Flannel {
    name: "flannel-vxlan",
    summary: "flannel: a bridge on each node, and kernel VXLAN between them that flanneld sets up",
    backend: Backend::Vxlan,
};
