//! `ovs-user-bridge-vxlan`: containers, each on its own Linux bridge behind Open vSwitch, and VXLAN tunnels between the nodes,
//! all forwarded by its daemons.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::ovs_tunnels::OvsTunnelNetwork;
use crate::networks::ovs::{OvsAttachment, SOURCE};
use tare_network::{NetworkInfo, NetworkOption};

pub(crate) const NETWORK: OvsTunnelNetwork = OvsTunnelNetwork {
    about: NetworkInfo {
        name: "ovs-user-bridge-vxlan",
        summary: "one network over all nodes by Open vSwitch's VXLAN tunnels, forwarded by its daemons, each container on a Linux bridge of its own",
        stands_for: "OpenStack Neutron's hybrid plug between hosts: Open vSwitch itself on every node, private to the lab, its datapath in userspace",
        source: SOURCE,
        options: &[NetworkOption::Rate],
    },
    datapath: OvsDatapath::Userspace,
    attachment: OvsAttachment::LinuxBridge,
};
