//! `gre`: nodes joined by GRE tunnels (RFC 2784), a bridge on each.

use super::tunnels::TunnelNetwork;
use crate::backbone::Backbone;
use tare_network::{NetworkInfo, NetworkOption};

pub(super) const NETWORK: TunnelNetwork = TunnelNetwork {
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
