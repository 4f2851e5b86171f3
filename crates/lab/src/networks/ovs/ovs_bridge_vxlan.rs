//! `ovs-bridge-vxlan`: containers, each on its own Linux bridge behind Open vSwitch, and VXLAN tunnels between the
//! nodes.

use crate::networks::ovs::ovs_tunnels::{DatapathChoice, OvsTunnelNetwork};
use crate::networks::ovs::{OvsAttachment, SOURCE};
use std::sync::Arc;
use tare_network::{NetworkInfo, NetworkOption};
use tare_sandbox::Sandbox;

pub(crate) fn network(sandbox: &Option<Arc<Sandbox>>) -> OvsTunnelNetwork {
    let about = NetworkInfo {
        name: "ovs-bridge-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, each container on a Linux bridge of its own",
        stands_for: "OpenStack Neutron's hybrid plug between hosts: Open vSwitch itself on every node, private to the lab",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    };
    OvsTunnelNetwork {
        about,
        datapath_choice: DatapathChoice::KernelIfAvailable,
        attachment: OvsAttachment::LinuxBridge,
        sandbox: sandbox.clone(),
    }
}
