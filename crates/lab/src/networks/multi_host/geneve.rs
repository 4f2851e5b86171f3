//! `geneve`: nodes joined by Geneve tunnels (RFC 8926), a bridge on each.

use crate::networks::multi_host::tunnels::TunnelNetwork;
use crate::plan::backbone::Backbone;
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: TunnelNetwork = TunnelNetwork {
    about: NetworkInfo {
        name: "geneve",
        summary: "Ethernet in UDP between nodes by kernel Geneve, a bridge on each",
        stands_for: "the tunnels of OVN-Kubernetes, Antrea and Cilium with geneve, without their programs",
        source: "RFC 8926; ip-link(8)",
        options: &NetworkOption::DEVICE_PAIRS,
    },
    backbone: Backbone::Geneve,
    module: "geneve",
};
