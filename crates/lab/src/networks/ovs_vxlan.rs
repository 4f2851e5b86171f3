//! `ovs-vxlan`: containers on Open vSwitch of their node, forwarded by the kernel, and VXLAN tunnels between the nodes.

use super::ovs::{Between, SOURCE};
use super::ovs_nodes::{Forwards, OvsNodes};
use crate::lab::Lab;
use crate::openvswitch::Datapath;
use std::sync::Arc;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) fn network(lab: &Option<Arc<Lab>>) -> OvsNodes {
    let about = About {
        name: "ovs-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, forwarded by the kernel",
        stands_for: "Open vSwitch itself on every node, private to the lab: OVN's and OpenStack's tunnels, without their programs",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    };
    OvsNodes {
        about,
        forwards: Forwards::By(Datapath::Kernel),
        between: Between::Nothing,
        lab: lab.clone(),
    }
}
