//! Tunnels between nodes, their forwarding entries, and impaired links.

use super::NamespaceId;
use crate::netem::Netem;
use crate::plan::address::MacAddress;
use std::net::Ipv4Addr;

/// Encapsulation of a tunnel. Nodes use IPv4 between each other, whatever the containers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encapsulation {
    /// Ethernet in UDP (RFC 7348). Forwarding entries define the node for each address.
    Vxlan {
        /// Identifier of the virtual network.
        id: u32,
        /// Local address.
        local: Ipv4Addr,
        /// UDP port, both source and destination.
        port: u16,
        /// Mode for neighbours that the device knows: to answer for them, or to query all nodes.
        proxy: NeighbourProxy,
    },
    /// Ethernet in UDP (RFC 8926), to one other node.
    Geneve {
        /// Identifier of the virtual network.
        id: u32,
        /// Remote address.
        remote: Ipv4Addr,
    },
    /// IPv4 in IPv4 (RFC 2003), to one other node.
    Ipip {
        /// Local address.
        local: Ipv4Addr,
        /// Remote address.
        remote: Ipv4Addr,
    },
    /// IP in GRE (RFC 2784), to one other node.
    Gre {
        /// Local address.
        local: Ipv4Addr,
        /// Remote address.
        remote: Ipv4Addr,
    },
    /// IP in encrypted UDP, to the peers that are configured on the device.
    Wireguard,
}

/// Handling of neighbour queries by a VXLAN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeighbourProxy {
    /// The device answers queries for known neighbours itself.
    Answers,
    /// The device does not answer queries.
    Silent,
}

/// Permanent forwarding entry of a VXLAN device: the node behind which an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VxlanFdbEntry {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the VXLAN device.
    pub(crate) device: String,
    /// Link-layer address.
    pub(crate) mac: MacAddress,
    /// Address of the node.
    pub(crate) remote: Ipv4Addr,
}

/// Device whose packets are delayed, lost or rate-limited on purpose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Impairment {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: String,
    /// Impairment of the packets that leave by it.
    pub(crate) netem: Netem,
}
