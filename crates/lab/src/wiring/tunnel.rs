//! Tunnels between nodes, where their packets go, and links that are worse than they could be.

use super::SpaceId;
use crate::address::Mac;
use crate::netem::Netem;
use std::net::Ipv4Addr;

/// What a tunnel wraps packets in. The nodes speak IPv4 to each other, whatever the containers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Ethernet in UDP (RFC 7348), to whom the forwarding entries say.
    Vxlan {
        /// The network's number.
        id: u32,
        /// From where.
        local: Ipv4Addr,
        /// The UDP port, to and from.
        port: u16,
        /// Whether it answers for the neighbours that it knows, instead of asking all nodes.
        proxy: Proxy,
    },
    /// Ethernet in UDP (RFC 8926), to one other node.
    Geneve {
        /// The network's number.
        id: u32,
        /// To where.
        remote: Ipv4Addr,
    },
    /// IPv4 in IPv4 (RFC 2003), to one other node.
    Ipip {
        /// From where.
        local: Ipv4Addr,
        /// To where.
        remote: Ipv4Addr,
    },
    /// IP in GRE (RFC 2784), to one other node.
    Gre {
        /// From where.
        local: Ipv4Addr,
        /// To where.
        remote: Ipv4Addr,
    },
    /// IP in encrypted UDP, to the peers that the device is told of.
    Wireguard,
}

/// Whether a VXLAN device answers questions for neighbours itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// It does.
    Answers,
    /// It does not.
    Silent,
}

/// A forwarding entry of a VXLAN device, for good: who is behind which node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forwarding {
    /// Where.
    pub(crate) space: SpaceId,
    /// The VXLAN device.
    pub(crate) device: String,
    /// The link-layer address.
    pub(crate) mac: Mac,
    /// The node that it is behind.
    pub(crate) remote: Ipv4Addr,
}

/// A device whose packets are delayed, lost or held back on purpose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Impairment {
    /// Where.
    pub(crate) space: SpaceId,
    /// The device.
    pub(crate) device: String,
    /// What is done to what leaves by it.
    pub(crate) netem: Netem,
}
