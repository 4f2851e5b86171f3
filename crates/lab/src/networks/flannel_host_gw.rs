//! `flannel-host-gw`: flannel with its host-gw backend: plain routes that flanneld keeps.

use super::flannel::Flannel;
use crate::flannel::Backend;

/// The network.
pub(super) const NETWORK: Flannel = Flannel {
    name: "flannel-host-gw",
    summary: "flannel: a bridge on each node, and plain routes between them that flanneld keeps",
    backend: Backend::HostGw,
};
