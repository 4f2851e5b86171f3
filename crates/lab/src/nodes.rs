//! Nodes, the underlay that joins them, and Docker's default bridge on one of them.

use crate::address::{Slot, Subnet};
use crate::docker::BRIDGE;
use crate::wiring::{Cable, End, Route, SpaceId, Sysctl, Wiring};
use tare_network::{BitsPerSecond, Error};

/// The device by which a namespace is connected: a node to the underlay, a container to its bridge.
pub(crate) const UPLINK: &str = "eth0";

/// The name of the namespace between the nodes.
pub(crate) const UNDERLAY: &str = "underlay";

/// The bridge that joins the nodes' uplinks.
pub(crate) const SWITCH: &str = "underlay0";

/// How the names of nodes' namespaces begin; a number follows.
pub(crate) const NODE: &str = "node-";

/// Bridged packets do not pass netfilter: the underlay stands for switches, and a plain bridge is nothing but a bridge.
pub(crate) const BRIDGED_PAST_NETFILTER: [Sysctl; 2] = [
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "0"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "0"),
];

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its namespace.
    pub(crate) space: SpaceId,
    number: u8,
}

/// Adds nodes, all with the same settings, and the underlay that joins their uplinks.
pub(crate) fn add_nodes(wiring: &mut Wiring, count: u8, sysctls: &[Sysctl]) -> Vec<Node> {
    let underlay = wiring.space(UNDERLAY, &BRIDGED_PAST_NETFILTER);
    wiring.bridge(underlay, SWITCH, None);
    let nodes: Vec<Node> = (0..count)
        .map(|number| {
            let space = wiring.space(format!("{NODE}{number}"), sysctls);
            Node { space, number }
        })
        .collect();
    for node in &nodes {
        let near = End::new(underlay, node.port()).plugged_into(SWITCH);
        let far = End::new(node.space, UPLINK).with_mac(node.slot(0).mac());
        wiring.cables.push(Cable::new(near, far));
        wiring.address(node.space, UPLINK, node.slot(0));
    }
    nodes
}

impl Node {
    /// Its number, from 0.
    pub(crate) fn number(self) -> u8 {
        self.number
    }

    /// The port of the switch that it is plugged into.
    pub(crate) fn port(self) -> String {
        format!("veth-n{}", self.number)
    }

    /// How many addresses a node can have of its own.
    pub(crate) const MOST_ADDRESSES: u32 = 250;

    /// Its address of this number on the underlay; it has the first by itself.
    pub(crate) fn slot(self, index: u8) -> Slot {
        Subnet::UNDERLAY.slot(u16::from_be_bytes([self.number, 1 + index]))
    }

    /// Gives it more addresses, so that it has `count`; they are returned with the first.
    ///
    /// Servers that share a node's namespace serve on the same ports: each needs an address of its own.
    pub(crate) fn addresses(self, wiring: &mut Wiring, count: u32) -> Result<Vec<Slot>, Error> {
        let count =
            u8::try_from(count).ok().filter(|&count| u32::from(count) <= Self::MOST_ADDRESSES);
        let count = count.ok_or_else(|| {
            Error::new("give a node its addresses", "more servers than addresses")
                .with_remedy(format!("ask for at most {} servers", Self::MOST_ADDRESSES))
        })?;
        for index in 1..count {
            wiring.address(self.space, UPLINK, self.slot(index));
        }
        Ok((0..count).map(|index| self.slot(index)).collect())
    }
}

/// Docker's default bridge on a node.
pub(crate) struct DockerBridge {
    node: Node,
    rate: Option<BitsPerSecond>,
    plugged: u16,
}

/// A container on a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plugged {
    /// Its namespace.
    pub(crate) space: SpaceId,
    /// Its interface.
    pub(crate) slot: Slot,
}

impl DockerBridge {
    /// Adds the bridge, with the gateway's address; every container's link to it is limited to the rate.
    pub(crate) fn add(wiring: &mut Wiring, node: Node, rate: Option<BitsPerSecond>) -> Self {
        let bridge = Self { node, rate, plugged: 0 };
        let gateway = bridge.gateway();
        wiring.bridge(node.space, BRIDGE, Some(gateway.mac()));
        wiring.address(node.space, BRIDGE, gateway);
        bridge
    }

    /// The most containers on it.
    pub(crate) const MOST: u32 = 60_000;

    /// Its network.
    pub(crate) fn subnet(&self) -> Subnet {
        Subnet::docker(self.node.number)
    }

    /// Its own interface.
    pub(crate) fn gateway(&self) -> Slot {
        self.subnet().slot(1)
    }

    /// Adds a container, plugged in by `port`.
    pub(crate) fn plug(&mut self, wiring: &mut Wiring, name: &str, port: &str) -> Plugged {
        let slot = self.subnet().slot(2 + self.plugged);
        self.plugged += 1;
        let space = wiring.space(name, &[]);
        let near = End::new(self.node.space, port).plugged_into(BRIDGE);
        let far = End::new(space, UPLINK).with_mac(slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(self.rate));
        wiring.address(space, UPLINK, slot);
        let gateway = self.gateway().address(wiring.family);
        wiring.routes.push(Route::default_via(space, gateway));
        Plugged { space, slot }
    }
}
