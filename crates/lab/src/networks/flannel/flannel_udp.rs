//! `flannel-udp`: flannel with its UDP backend, in which flanneld itself forwards every packet.

use crate::networks::flannel::FlannelNetwork;
use crate::networks::flannel::flanneld::FlannelBackend;

pub(crate) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-udp",
    summary: "flannel: a bridge on each node, and flanneld itself in userspace between them",
    backend: FlannelBackend::Udp,
};
