//! `flannel-ipip`: flannel with its IP-in-IP backend.

use super::flannel::FlannelNetwork;
use crate::flannel::FlannelBackend;

pub(super) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-ipip",
    summary: "flannel: a bridge on each node, and IP-in-IP between them that flanneld sets up",
    backend: FlannelBackend::Ipip,
};
