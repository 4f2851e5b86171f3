//! `calico-ipip`: Calico's data plane with IP in IP between nodes.

use crate::networks::calico::{CalicoNetwork, SOURCE};
use crate::plan::backbone::Backbone;
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: CalicoNetwork = CalicoNetwork {
    about: NetworkInfo {
        name: "calico-ipip",
        summary: "a routed address for every container, Calico's policy chains, IP-in-IP between nodes",
        stands_for: "Calico's data plane with IP-in-IP (ipipMode: Always); a tunnel for each node here, one for all there",
        source: SOURCE,
        options: &NetworkOption::DEVICE_PAIRS,
    },
    backbone: Backbone::Ipip,
    module: Some("ipip"),
};
