//! `ovs-vxlan`: containers on their node's Open vSwitch, forwarded by the kernel, and VXLAN tunnels between the nodes.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::ovs_tunnels::{DatapathChoice, OvsTunnelNetwork};
use crate::networks::ovs::{OvsAttachment, SOURCE};
use std::sync::Arc;
use tare_network::{NetworkInfo, NetworkOption};
use tare_sandbox::Sandbox;

pub(crate) fn network(sandbox: &Option<Arc<Sandbox>>) -> OvsTunnelNetwork {
    let about = NetworkInfo {
        name: "ovs-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, forwarded by the kernel",
        stands_for: "Open vSwitch itself on every node, private to the lab: OVN's and OpenStack's tunnels, without their programs",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    };
    OvsTunnelNetwork {
        about,
        datapath_choice: DatapathChoice::Fixed(OvsDatapath::Kernel),
        attachment: OvsAttachment::Direct,
        sandbox: sandbox.clone(),
    }
}
