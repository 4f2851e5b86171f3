//! `ovs-user-vxlan`: containers on Open vSwitch of their node, and VXLAN tunnels between the nodes, all of it by its daemons.

use super::ovs::{Between, SOURCE};
use super::ovs_nodes::{Forwards, OvsNodes};
use crate::lab::Lab;
use crate::openvswitch::Datapath;
use std::sync::Arc;
use tare_network::{About, NetworkOption};

/// The network.
pub(super) fn network(lab: &Option<Arc<Lab>>) -> OvsNodes {
    let about = About {
        name: "ovs-user-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, forwarded by its daemons",
        stands_for: "Open vSwitch itself on every node, private to the lab, its datapath in userspace",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    };
    OvsNodes {
        about,
        forwards: Forwards::By(Datapath::Userspace),
        between: Between::Nothing,
        lab: lab.clone(),
    }
}
