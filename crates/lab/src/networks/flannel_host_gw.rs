//! `flannel-host-gw`: flannel with its host-gw backend, plain routes that flanneld maintains.

use super::flannel::FlannelNetwork;
use crate::flannel::FlannelBackend;

pub(super) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-host-gw",
    summary: "flannel: a bridge on each node, and plain routes between them that flanneld keeps",
    backend: FlannelBackend::HostGw,
};
