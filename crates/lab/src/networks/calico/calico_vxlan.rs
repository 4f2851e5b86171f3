//! `calico-vxlan`: Calico's data plane with VXLAN between nodes.

use crate::networks::calico::{CalicoNetwork, SOURCE};
use crate::plan::backbone::Backbone;
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: CalicoNetwork = CalicoNetwork {
    about: NetworkInfo {
        name: "calico-vxlan",
        summary: "a routed address for every container, Calico's policy chains, VXLAN between nodes",
        stands_for: "Calico's data plane with VXLAN (vxlanMode: Always), programmed as Felix does",
        source: SOURCE,
        options: &NetworkOption::DEVICE_PAIRS,
    },
    backbone: Backbone::Vxlan { device: "vxlan.calico" },
    module: Some("vxlan"),
};
