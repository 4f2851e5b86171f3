//! `calico-ipip`: Calico's data plane with IP in IP between nodes.

use super::calico::{Calico, SOURCE};
use crate::backbone::Backbone;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) const NETWORK: Calico = Calico {
    about: About {
        name: "calico-ipip",
        summary: "a routed address for every container, Calico's policy chains, IP-in-IP between nodes",
        stands_for: "Calico's data plane with IP-in-IP (ipipMode: Always); a tunnel for each node here, one for all there",
        source: SOURCE,
        options: &NetworkOption::CABLED,
    },
    backbone: Backbone::Ipip,
    module: Some("ipip"),
};
