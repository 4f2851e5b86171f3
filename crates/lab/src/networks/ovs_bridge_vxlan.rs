//! `ovs-bridge-vxlan`: containers, each on a Linux bridge of its own behind Open vSwitch, and VXLAN tunnels between the nodes.

use super::ovs::{Between, SOURCE};
use super::ovs_nodes::{Forwards, OvsNodes};
use crate::lab::Lab;
use std::sync::Arc;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) fn network(lab: &Option<Arc<Lab>>) -> OvsNodes {
    let about = About {
        name: "ovs-bridge-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, each container on a Linux bridge of its own",
        stands_for: "OpenStack Neutron's hybrid plug between hosts: Open vSwitch itself on every node, private to the lab",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    };
    OvsNodes {
        about,
        forwards: Forwards::ByWhatThereIs,
        between: Between::LinuxBridge,
        lab: lab.clone(),
    }
}
