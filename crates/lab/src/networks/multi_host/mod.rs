//! Networks between nodes, by the kernel alone.

pub(crate) mod geneve;
pub(crate) mod gre;
pub(crate) mod ipip;
pub(crate) mod routed;
pub(crate) mod tunnels;
pub(crate) mod vxlan;
pub(crate) mod vxlan_encrypted;
pub(crate) mod wireguard;
pub(crate) mod wireguard_user;
