//! `flannel-udp`: flannel with its UDP backend, in which flanneld itself forwards every packet.

use super::flannel::FlannelNetwork;
use crate::flannel::FlannelBackend;

pub(super) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-udp",
    summary: "flannel: a bridge on each node, and flanneld itself in userspace between them",
    backend: FlannelBackend::Udp,
};
