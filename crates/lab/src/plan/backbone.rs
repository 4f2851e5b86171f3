//! Connection of the nodes to each other's containers: plain routes or tunnels.

use crate::plan::address::LabSubnet;
use crate::plan::layout::Waypoint;
use crate::plan::nodes::{LabNode, UPLINK};
use crate::plan::underlay::Underlay;
use crate::plan::wiring::{
    ChildDevice, IpRoute, NamespaceId, Neighbour, ParentDevice, VxlanFdbEntry, Wiring,
};
use tare_network::HopKind;
use tare_sandbox::addressing::RouteDestination;
use tare_sandbox::devices::{Geneve, Gre, Ipip, NeighbourProxy, Vxlan};
use tare_sandbox::netlink::MacAddress;

/// Identifier of every virtual network in the lab. One is enough, because each network has an underlay of its own.
pub(crate) const NETWORK_ID: u32 = 42;

/// UDP port of VXLAN (RFC 7348, 5).
pub(crate) const VXLAN_PORT: u16 = 4789;

/// Path from each node to the containers of every other node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backbone {
    /// Routes through the addresses of the other nodes.
    Routes,
    /// A Geneve tunnel to each other node.
    Geneve,
    /// An IP-in-IP tunnel to each other node.
    Ipip,
    /// A GRE tunnel to each other node.
    Gre,
    /// One VXLAN device, with a route through the device of each other node.
    Vxlan {
        /// Name of the device.
        device: &'static str,
    },
}

impl Backbone {
    /// Returns the size of the headers that it adds to a packet on the underlay, which is IPv4, bytes.
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

    /// Adds a path from every node to every other node's containers.
    pub(crate) fn add(self, wiring: &mut Wiring, underlay: &Underlay) {
        if self != Self::Routes {
            underlay.add_ipv4(wiring);
        }
        if let Self::Vxlan { device } = self {
            underlay.nodes.iter().for_each(|&node| self.add_vxlan(wiring, underlay, node, device));
        }
        for (one, other) in underlay.pairs() {
            self.add_route(wiring, underlay, one, other);
        }
    }

    /// Returns the path between two nodes from uplink to uplink, tunnels included.
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

    /// Returns the tunnel device by which packets to this node leave. Returns `None` if they leave by the uplink.
    pub(crate) fn device(self, to: LabNode) -> Option<String> {
        match self {
            Self::Routes => None,
            Self::Geneve => Some(format!("gnv-n{}", to.number())),
            Self::Ipip => Some(format!("ipip-n{}", to.number())),
            Self::Gre => Some(format!("gre-n{}", to.number())),
            Self::Vxlan { device } => Some(device.to_owned()),
        }
    }

    /// Returns the tunnel device of one node for the packets to the other. Returns `None` if no device is for the other
    /// node alone.
    fn tunnel(self, one: LabNode, other: LabNode) -> Option<ChildDevice> {
        let (local, remote) = (one.ipv4(), other.ipv4());
        let (name, parent) = (self.device(other)?, ParentDevice::new(one.space, UPLINK));
        // A device that carries bare IP packets has no link-layer address.
        match self {
            Self::Routes | Self::Vxlan { .. } => None,
            Self::Geneve => {
                let kind = Geneve { id: NETWORK_ID, remote };
                let mac = tunnel_slot(one, other).mac();
                Some(ChildDevice::new(one.space, name, parent, kind).with_mac(mac))
            }
            Self::Ipip => Some(ChildDevice::new(one.space, name, parent, Ipip { local, remote })),
            Self::Gre => Some(ChildDevice::new(one.space, name, parent, Gre { local, remote })),
        }
    }

    /// Adds the path from one node to the other's containers.
    fn add_route(self, wiring: &mut Wiring, underlay: &Underlay, one: LabNode, other: LabNode) {
        let subnet = LabSubnet::docker(other.number());
        let prefix = crate::plan::address::prefix_length(wiring.family);
        let to = RouteDestination::Net(subnet.slot(0).address(wiring.family), prefix);
        let mtu = Some(underlay.link.mtu() - self.headers());
        let tunnel = self.tunnel(one, other).map(|device| ChildDevice { mtu, ..device });
        wiring.child_devices.extend(tunnel);
        let route = IpRoute::to(one.space, to);
        if matches!(self, Self::Geneve | Self::Vxlan { .. }) {
            self.add_neighbour(wiring, one, other);
        }
        wiring.routes.push(match self {
            Self::Routes => IpRoute { via: Some(other.slot(0).address(wiring.family)), ..route },
            Self::Ipip | Self::Gre => IpRoute { device: self.device(other), ..route },
            Self::Geneve | Self::Vxlan { .. } => {
                let via = tunnel_slot(other, one).address(wiring.family);
                IpRoute { via: Some(via), device: self.device(other), onlink: true, ..route }
            }
        });
    }

    /// Adds the neighbour entry for the other end of an Ethernet tunnel.
    fn add_neighbour(self, wiring: &mut Wiring, one: LabNode, other: LabNode) {
        let Some(device) = self.device(other) else { return };
        let (slot, mac) = match self {
            Self::Vxlan { .. } => (tunnel_slot(other, one), vtep(other)),
            _ => (tunnel_slot(other, one), tunnel_slot(other, one).mac()),
        };
        let address = slot.address(wiring.family);
        if matches!(self, Self::Vxlan { .. }) {
            let (space, device, remote) = (one.space, device.clone(), other.ipv4());
            wiring.vxlan_fdb_entries.push(VxlanFdbEntry { space, device, mac, remote });
        }
        wiring.neighbours.push(Neighbour { space: one.space, device, address, mac });
    }

    /// Adds the VXLAN device of a node. Forwarding entries define which frames it sends to which node.
    fn add_vxlan(self, wiring: &mut Wiring, underlay: &Underlay, node: LabNode, device: &str) {
        let parent = ParentDevice::new(node.space, UPLINK);
        let kind = vxlan(node, NeighbourProxy::Silent);
        wiring.child_devices.push(ChildDevice {
            mac: Some(vtep(node)),
            mtu: Some(underlay.link.mtu() - self.headers()),
            ..ChildDevice::new(node.space, device, parent, kind)
        });
    }
}

/// Returns the slot of a tunnel's end on a node, towards another node.
fn tunnel_slot(on: LabNode, towards: LabNode) -> crate::plan::address::InterfaceSlot {
    LabSubnet::TUNNELS.slot(u16::from_be_bytes([on.number(), 1 + towards.number()]))
}

/// Returns the link-layer address of a node's VXLAN device.
fn vtep(node: LabNode) -> MacAddress {
    tunnel_slot(node, node).mac()
}

/// Returns the kind of a node's VXLAN device.
fn vxlan(node: LabNode, proxy: NeighbourProxy) -> Vxlan {
    Vxlan { id: NETWORK_ID, local: node.ipv4(), port: VXLAN_PORT, proxy }
}

/// Returns a VXLAN device that is a port of a bridge in a namespace of its own. Its underlay is in the node's
/// namespace.
pub(crate) fn vxlan_port(
    node: LabNode,
    space: NamespaceId,
    name: &str,
    bridge: &str,
) -> ChildDevice {
    let parent = ParentDevice::new(node.space, UPLINK);
    let device = ChildDevice::new(space, name, parent, vxlan(node, NeighbourProxy::Answers));
    ChildDevice { controller: Some(bridge.to_owned()), ..device }
}
