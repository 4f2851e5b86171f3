//! `ovs-bridge-vxlan`: containers, each on its own Linux bridge behind Open vSwitch, and VXLAN tunnels between the nodes, all
//! forwarded by the kernel.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::ovs_tunnels::OvsTunnelNetwork;
use crate::networks::ovs::{OvsAttachment, SOURCE};
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: OvsTunnelNetwork = OvsTunnelNetwork {
    about: NetworkInfo {
        name: "ovs-bridge-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, forwarded by the kernel, each container on a Linux bridge of its own",
        stands_for: "OpenStack Neutron's hybrid plug between hosts: Open vSwitch itself on every node, private to the lab",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    },
    datapath: OvsDatapath::Kernel,
    attachment: OvsAttachment::LinuxBridge,
};
