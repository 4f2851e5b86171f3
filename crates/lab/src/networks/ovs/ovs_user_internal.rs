//! `ovs-user-internal`: containers whose device is an internal port of an Open vSwitch bridge, forwarded by its daemon.

use crate::networks::ovs::openvswitch::OvsDatapath;
use crate::networks::ovs::ovs_internal::InternalPortNetwork;

pub(crate) const NETWORK: InternalPortNetwork = InternalPortNetwork {
    name: "ovs-user-internal",
    summary: "two containers, each with an internal port of an Open vSwitch bridge, forwarded by its daemon",
    datapath: OvsDatapath::Userspace,
};
