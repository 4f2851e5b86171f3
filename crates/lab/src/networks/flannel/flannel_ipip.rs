//! `flannel-ipip`: flannel with its IP-in-IP backend.

use crate::networks::flannel::FlannelNetwork;
use crate::networks::flannel::flanneld::FlannelBackend;

pub(crate) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-ipip",
    summary: "flannel: a bridge on each node, and IP-in-IP between them that flanneld sets up",
    backend: FlannelBackend::Ipip,
};
