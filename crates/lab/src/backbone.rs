//! How the nodes of a network reach each other's containers: by plain routes, or through tunnels.

use crate::address::Subnet;
use crate::layout::Waypoint;
use crate::nodes::{Node, UPLINK};
use crate::underlay::Underlay;
use crate::wiring::{
    Destination, Forwarding, Link, LinkKind, Neighbour, Parent, Proxy, Route, SpaceId, Wiring, Wrap,
};
use tare_network::HopKind;

/// The number of every virtual network of the lab's: each has an underlay of its own.
pub(crate) const NETWORK_ID: u32 = 42;

/// The port of VXLAN (RFC 7348, 5).
pub(crate) const VXLAN_PORT: u16 = 4789;

/// A way from each node to the containers of every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backbone {
    /// Routes through the other nodes' own addresses.
    Routes,
    /// A Geneve tunnel to each other node.
    Geneve,
    /// An IP-in-IP tunnel to each other node.
    Ipip,
    /// A GRE tunnel to each other node.
    Gre,
    /// One VXLAN device, with a route through each other node's.
    Vxlan {
        /// The device's name.
        device: &'static str,
    },
}

impl Backbone {
    /// What its headers take of a packet on the underlay, which is IPv4, bytes.
    pub(crate) const fn headers(self) -> u32 {
        const IPV4: u32 = 20;
        const UDP: u32 = 8;
        const ETHERNET: u32 = 14;
        match self {
            Self::Routes => 0,
            Self::Ipip => IPV4,
            Self::Gre => IPV4 + 4,
            Self::Geneve | Self::Vxlan { .. } => IPV4 + UDP + 8 + ETHERNET,
        }
    }

    /// Adds it: every node gets a way to every other's containers.
    pub(crate) fn add(self, wiring: &mut Wiring, underlay: &Underlay) {
        if self != Self::Routes {
            underlay.speak_ipv4(wiring);
        }
        if let Self::Vxlan { device } = self {
            underlay.nodes.iter().for_each(|&node| self.vxlan(wiring, underlay, node, device));
        }
        for (one, other) in underlay.pairs() {
            self.join(wiring, underlay, one, other);
        }
    }

    /// From a node's way out to another's way in, tunnels included.
    pub(crate) fn path(self, underlay: &Underlay, from: usize, to: usize) -> Vec<Waypoint> {
        let [one, other] = [underlay.nodes[from], underlay.nodes[to]];
        let mut path = underlay.path(from, to);
        if let Some(device) = self.device(other) {
            path.insert(0, Waypoint::device(HopKind::Encapsulation, one.space, device));
        }
        if let Some(device) = self.device(one) {
            path.push(Waypoint::device(HopKind::Encapsulation, other.space, device));
        }
        path
    }

    /// The device by which packets to this node leave, where that is not the uplink.
    pub(crate) fn device(self, to: Node) -> Option<String> {
        match self {
            Self::Routes => None,
            Self::Geneve => Some(format!("gnv-n{}", to.number())),
            Self::Ipip => Some(format!("ipip-n{}", to.number())),
            Self::Gre => Some(format!("gre-n{}", to.number())),
            Self::Vxlan { device } => Some(device.to_owned()),
        }
    }

    /// What a tunnel from one node to the other wraps packets in.
    fn wrap(self, one: Node, other: Node) -> Option<Wrap> {
        let (local, remote) = (one.ipv4(), other.ipv4());
        match self {
            Self::Routes | Self::Vxlan { .. } => None,
            Self::Geneve => Some(Wrap::Geneve { id: NETWORK_ID, remote }),
            Self::Ipip => Some(Wrap::Ipip { local, remote }),
            Self::Gre => Some(Wrap::Gre { local, remote }),
        }
    }

    /// The way from one node to the other.
    fn join(self, wiring: &mut Wiring, underlay: &Underlay, one: Node, other: Node) {
        let subnet = Subnet::docker(other.number());
        let prefix = crate::address::prefix_length(wiring.family);
        let to = Destination::Net(subnet.slot(0).address(wiring.family), prefix);
        if let (Some(wrap), Some(device)) = (self.wrap(one, other), self.device(other)) {
            let kind = LinkKind::Tunnel { parent: Parent::new(one.space, UPLINK), wrap };
            let link = Link::new(one.space, device, kind);
            let mac = tunnel_slot(one, other).mac();
            wiring.links.push(Link {
                // What carries IP packets as they are has no link-layer address.
                mac: matches!(self, Self::Geneve).then_some(mac),
                mtu: Some(underlay.link.mtu() - self.headers()),
                ..link
            });
        }
        let route = Route::to(one.space, to);
        if matches!(self, Self::Geneve | Self::Vxlan { .. }) {
            self.neighbour(wiring, one, other);
        }
        wiring.routes.push(match self {
            Self::Routes => Route { via: Some(other.slot(0).address(wiring.family)), ..route },
            Self::Ipip | Self::Gre => Route { device: self.device(other), ..route },
            Self::Geneve | Self::Vxlan { .. } => {
                let via = tunnel_slot(other, one).address(wiring.family);
                Route { via: Some(via), device: self.device(other), onlink: true, ..route }
            }
        });
    }

    /// Where the other end of an Ethernet tunnel is.
    fn neighbour(self, wiring: &mut Wiring, one: Node, other: Node) {
        let Some(device) = self.device(other) else { return };
        let (slot, mac) = match self {
            Self::Vxlan { .. } => (tunnel_slot(other, one), vtep(other)),
            _ => (tunnel_slot(other, one), tunnel_slot(other, one).mac()),
        };
        let address = slot.address(wiring.family);
        if matches!(self, Self::Vxlan { .. }) {
            let (space, device, remote) = (one.space, device.clone(), other.ipv4());
            wiring.forwarding.push(Forwarding { space, device, mac, remote });
        }
        wiring.neighbours.push(Neighbour { space: one.space, device, address, mac });
    }

    /// A node's VXLAN device: what it sends to whom, forwarding entries say.
    fn vxlan(self, wiring: &mut Wiring, underlay: &Underlay, node: Node, device: &str) {
        let wrap = Wrap::Vxlan {
            id: NETWORK_ID,
            local: node.ipv4(),
            port: VXLAN_PORT,
            proxy: Proxy::Silent,
        };
        let kind = LinkKind::Tunnel { parent: Parent::new(node.space, UPLINK), wrap };
        wiring.links.push(Link {
            mac: Some(vtep(node)),
            mtu: Some(underlay.link.mtu() - self.headers()),
            ..Link::new(node.space, device, kind)
        });
    }
}

/// The interface of a tunnel's end on a node, towards another.
fn tunnel_slot(on: Node, towards: Node) -> crate::address::Slot {
    Subnet::TUNNELS.slot(u16::from_be_bytes([on.number(), 1 + towards.number()]))
}

/// The link-layer address of a node's VXLAN device.
fn vtep(node: Node) -> crate::address::Mac {
    tunnel_slot(node, node).mac()
}

/// A VXLAN device that belongs to a bridge in a namespace of its own, with its underlay in the node's.
pub(crate) fn vxlan_port(node: Node, space: SpaceId, name: &str, bridge: &str) -> Link {
    let wrap =
        Wrap::Vxlan { id: NETWORK_ID, local: node.ipv4(), port: VXLAN_PORT, proxy: Proxy::Answers };
    let kind = LinkKind::Tunnel { parent: Parent::new(node.space, UPLINK), wrap };
    Link { controller: Some(bridge.to_owned()), ..Link::new(space, name, kind) }
}
