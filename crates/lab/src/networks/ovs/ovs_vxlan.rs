//! `ovs-vxlan`: containers on their node's Open vSwitch, forwarded by the kernel, and VXLAN tunnels between the nodes.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::ovs_tunnels::OvsTunnelNetwork;
use crate::networks::ovs::{OvsAttachment, SOURCE};
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: OvsTunnelNetwork = OvsTunnelNetwork {
    about: NetworkInfo {
        name: "ovs-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, forwarded by the kernel",
        stands_for: "Open vSwitch itself on every node, private to the lab: OVN's and OpenStack's tunnels, without their programs",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    },
    datapath: OvsDatapath::Kernel,
    attachment: OvsAttachment::Direct,
};
