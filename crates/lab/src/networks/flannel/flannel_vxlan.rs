//! `flannel-vxlan`: flannel with its VXLAN backend, the most common one.

use crate::networks::flannel::FlannelNetwork;
use crate::networks::flannel::flanneld::FlannelBackend;

pub(crate) const NETWORK: FlannelNetwork = FlannelNetwork {
    name: "flannel-vxlan",
    summary: "flannel: a bridge on each node, and kernel VXLAN between them that flanneld sets up",
    backend: FlannelBackend::Vxlan,
};
