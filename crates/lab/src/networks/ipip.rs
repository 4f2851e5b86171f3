//! `ipip`: nodes joined by tunnels of IP in IP (RFC 2003), a bridge on each.

use super::tunnels::Tunnels;
use crate::backbone::Backbone;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) const NETWORK: Tunnels = Tunnels {
    about: About {
        name: "ipip",
        summary: "IPv4 in IPv4 between nodes by the kernel, a bridge on each",
        stands_for: "flannel's ipip, kube-router across subnets",
        source: "RFC 2003; ip-tunnel(8)",
        options: &NetworkOption::CABLED,
    },
    backbone: Backbone::Ipip,
    module: "ipip",
};
