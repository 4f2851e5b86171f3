//! `calico-vxlan`: Calico's data plane with VXLAN between nodes.

use super::calico::{Calico, SOURCE};
use crate::backbone::Backbone;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) const NETWORK: Calico = Calico {
    about: About {
        name: "calico-vxlan",
        summary: "a routed address for every container, Calico's policy chains, VXLAN between nodes",
        stands_for: "Calico's data plane with VXLAN (vxlanMode: Always), programmed as Felix does",
        source: SOURCE,
        options: &NetworkOption::CABLED,
    },
    backbone: Backbone::Vxlan { device: "vxlan.calico" },
    module: Some("vxlan"),
};
