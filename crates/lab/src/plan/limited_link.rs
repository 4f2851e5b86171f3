//! Link with a rate, between a node and the switch: a namespace of its own, with a queue for each direction.
//!
//! A queue on the node's own device would never drop a datagram: while it waits there, the kernel counts it against the
//! buffer of the socket that sent it, and the sender blocks instead. Behind the link's loopback device, packets belong to
//! no socket any more (drivers/net/loopback.c, `skb_orphan`), as behind a cable.

use crate::plan::layout::Waypoint;
use crate::plan::wiring::{DevicePair, DevicePairEnd, NamespaceId, RateLimit, Redirection, Wiring};
use std::mem;
use tare_network::{BitsPerSecond, HopKind, NodeLink};
use tare_sandbox::Sysctl;
use tare_sandbox::devices::TokenBucket;

/// Device of the link on the side of the node.
const NODE_SIDE: &str = "node";
/// Device of the link on the side of the switch.
const SWITCH_SIDE: &str = "switch";
/// Loopback device, which takes packets away from their sockets.
const LOOPBACK: &str = "lo";

/// A link only carries: it sends no packets of its own, such as IPv6's about its addresses.
const SILENT: [Sysctl; 2] = [
    Sysctl::if_there("net.ipv6.conf.default.disable_ipv6", "1"),
    Sysctl::if_there("net.ipv6.conf.all.disable_ipv6", "1"),
];

/// Link with a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitedLink {
    /// Namespace of the link.
    space: NamespaceId,
}

impl LimitedLink {
    /// Puts the link with this number into a device pair between the switch (near) and a node (far).
    pub(crate) fn insert(
        wiring: &mut Wiring,
        number: usize,
        pair: usize,
        link: &NodeLink,
        rate: BitsPerSecond,
    ) -> Self {
        let space = wiring.add_namespace(format!("link-{number}"), &SILENT);
        let to_switch = DevicePairEnd::new(space, SWITCH_SIDE);
        let node = mem::replace(&mut wiring.device_pairs[pair].far, to_switch);
        let to_node = DevicePair::new(DevicePairEnd::new(space, NODE_SIDE), node);
        wiring.device_pairs.push(DevicePair { mtu: Some(link.mtu()), ..to_node });
        let bucket = TokenBucket::new(rate, link.mtu()).with_queue(link.queue());
        let limit = |device| RateLimit { space, device, bucket };
        wiring.rate_limits.extend([NODE_SIDE, SWITCH_SIDE].map(limit));
        let redirect = |from, to| Redirection { space, from, to };
        wiring.redirections.extend([
            redirect(NODE_SIDE, LOOPBACK),
            redirect(LOOPBACK, SWITCH_SIDE),
            redirect(SWITCH_SIDE, NODE_SIDE),
        ]);
        Self { space }
    }

    /// Returns the path of a packet from the node to the switch.
    pub(crate) fn path_to_switch(self) -> Vec<Waypoint> {
        let device = |name| Waypoint::device(HopKind::Veth, self.space, name);
        vec![device(NODE_SIDE), Waypoint::loopback(Some(self.space)), device(SWITCH_SIDE)]
    }

    /// Returns the path of a packet from the switch to the node.
    pub(crate) fn path_to_node(self) -> Vec<Waypoint> {
        [SWITCH_SIDE, NODE_SIDE]
            .map(|name| Waypoint::device(HopKind::Veth, self.space, name))
            .to_vec()
    }
}
