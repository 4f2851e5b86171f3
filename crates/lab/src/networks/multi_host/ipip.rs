//! `ipip`: nodes joined by IP-in-IP tunnels (RFC 2003), a bridge on each.

use crate::networks::multi_host::tunnels::TunnelNetwork;
use crate::plan::backbone::Backbone;
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: TunnelNetwork = TunnelNetwork {
    about: NetworkInfo {
        name: "ipip",
        summary: "IPv4 in IPv4 between nodes by the kernel, a bridge on each",
        stands_for: "flannel's ipip, kube-router across subnets",
        source: "RFC 2003; ip-tunnel(8)",
        options: &NetworkOption::DEVICE_PAIRS,
    },
    backbone: Backbone::Ipip,
    module: "ipip",
};
