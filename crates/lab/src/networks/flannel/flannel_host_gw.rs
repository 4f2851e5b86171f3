//! `flannel-host-gw`: flannel with its host-gw backend, plain routes that flanneld maintains.

use crate::networks::flannel::FlannelNetwork;
use crate::networks::flannel::flanneld::FlannelBackend;

pub(crate) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-host-gw",
    summary: "flannel: a bridge on each node, and plain routes between them that flanneld keeps",
    backend: FlannelBackend::HostGw,
};
