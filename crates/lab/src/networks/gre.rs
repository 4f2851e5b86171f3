//! `gre`: nodes joined by tunnels of GRE (RFC 2784), a bridge on each.

use super::tunnels::Tunnels;
use crate::backbone::Backbone;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) const NETWORK: Tunnels = Tunnels {
    about: About {
        name: "gre",
        summary: "IP in GRE between nodes by the kernel, a bridge on each",
        stands_for: "the GRE tunnels of OpenShift's and Antrea's older networks",
        source: "RFC 2784; ip-tunnel(8)",
        options: &NetworkOption::CABLED,
    },
    backbone: Backbone::Gre,
    module: "ip_gre",
};
