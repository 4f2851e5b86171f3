//! Networks that only the published studies need.

pub(crate) mod link;
pub(crate) mod link_icc;
pub(crate) mod macvlan_nat;
pub(crate) mod pairs;
pub(crate) mod pipework;
pub(crate) mod pipework_macvlan;
