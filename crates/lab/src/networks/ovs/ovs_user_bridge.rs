//! `ovs-user-bridge`: containers, each on its own Linux bridge, which is a port of Open vSwitch, forwarded by its daemon.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::ovs_bridge::OvsBridgeNetwork;

pub(crate) const NETWORK: OvsBridgeNetwork = OvsBridgeNetwork {
    name: "ovs-user-bridge",
    summary: "two containers, each on a Linux bridge that is a port of Open vSwitch, forwarded by its daemon",
    stands_for: "OpenStack Neutron's hybrid plug: Open vSwitch itself, private to the lab, its datapath in userspace",
    datapath: OvsDatapath::Userspace,
};
