//! `geneve`: nodes joined by tunnels of Geneve (RFC 8926), a bridge on each.

use super::tunnels::Tunnels;
use crate::backbone::Backbone;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) const NETWORK: Tunnels = Tunnels {
    about: About {
        name: "geneve",
        summary: "Ethernet in UDP between nodes by kernel Geneve, a bridge on each",
        stands_for: "the tunnels of OVN-Kubernetes, Antrea and Cilium with geneve, without their programs",
        source: "RFC 8926; ip-link(8)",
        options: &NetworkOption::CABLED,
    },
    backbone: Backbone::Geneve,
    module: "geneve",
};
