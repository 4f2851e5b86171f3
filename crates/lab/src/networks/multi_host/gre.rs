//! `gre`: nodes joined by GRE tunnels (RFC 2784), a bridge on each.

use crate::networks::multi_host::tunnels::TunnelNetwork;
use crate::plan::backbone::Backbone;
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: TunnelNetwork = TunnelNetwork {
    about: NetworkInfo {
        name: "gre",
        summary: "IP in GRE between nodes by the kernel, a bridge on each",
        stands_for: "the GRE tunnels of OpenShift's and Antrea's older networks",
        source: "RFC 2784; ip-tunnel(8)",
        options: &NetworkOption::DEVICE_PAIRS,
    },
    backbone: Backbone::Gre,
    module: "ip_gre",
};
