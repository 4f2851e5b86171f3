//! Networks of one node.

pub(crate) mod bridge;
pub(crate) mod bridge_plain;
pub(crate) mod host;
pub(crate) mod ipvlan_l2;
pub(crate) mod ipvlan_l3;
pub(crate) mod loopback;
pub(crate) mod macvlan;
pub(crate) mod native;
pub(crate) mod netkit;
pub(crate) mod placed_sides;
pub(crate) mod ptp;
pub(crate) mod published;
pub(crate) mod published_proxy;
pub(crate) mod shared;
pub(crate) mod veth;
pub(crate) mod vlan;
pub(crate) mod vrf;
