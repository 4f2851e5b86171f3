//! Containers of a network that joins nodes, each on its node, and the layout that follows.

use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::layout::{Layout, NamespaceEndpoint, Waypoint, client_routes, server_of};
use crate::plan::nodes::UPLINK;
use crate::plan::placement::NodePlacement;
use crate::plan::underlay::Underlay;
use crate::plan::wiring::{DevicePair, DevicePairEnd, IpRoute, NamespaceId, Wiring};
use tare_network::{HopKind, NetworkParameters, Shape};

/// Bridge of a node, named as by the CNI's bridge plugin.
pub(crate) const BRIDGE: &str = "cni0";

/// Container on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeContainer {
    /// Index of its node.
    pub(crate) node: usize,
    /// Namespace of the container.
    pub(crate) space: NamespaceId,
    /// Slot of its interface.
    pub(crate) slot: InterfaceSlot,
    /// Device of the container in its node's namespace.
    pub(crate) port: String,
}

/// All containers of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeContainers {
    /// Containers of the servers.
    pub(crate) servers: Vec<NodeContainer>,
    /// Containers of the clients.
    pub(crate) clients: Vec<NodeContainer>,
}

impl NodeContainers {
    /// Creates the containers of a shape, spread over its nodes. `make` creates each from its node, its name, and the
    /// suffix of its port's name.
    pub(crate) fn place(
        shape: &Shape,
        mut make: impl FnMut(usize, String, String) -> NodeContainer,
    ) -> Self {
        let spread = NodePlacement::for_shape(shape);
        let servers = (0..shape.servers as usize)
            .map(|index| {
                make(spread.server_node(index), format!("server-{index}"), format!("s{index}"))
            })
            .collect();
        let clients = (0..shape.clients as usize)
            .map(|index| {
                make(spread.client_node(index), format!("client-{index}"), format!("c{index}"))
            })
            .collect();
        Self { servers, clients }
    }

    /// Iterates over all containers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &NodeContainer> {
        self.servers.iter().chain(&self.clients)
    }

    /// Iterates over the clients, each with its server.
    pub(crate) fn pairs<'a>(
        &'a self,
        shape: &'a Shape,
    ) -> impl Iterator<Item = (&'a NodeContainer, &'a NodeContainer)> + 'a {
        let server = move |index| &self.servers[server_of(index, shape)];
        self.clients.iter().enumerate().map(move |(index, client)| (client, server(index)))
    }

    /// Returns the layout in which each client dials the address of its server over this path.
    pub(crate) fn layout(
        &self,
        wiring: Wiring,
        path: Vec<Waypoint>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Layout {
        let family = wiring.family;
        let endpoint = |pod: &NodeContainer| NamespaceEndpoint {
            space: Some(pod.space),
            address: pod.slot.address(family),
        };
        Layout {
            servers: self.servers.iter().map(endpoint).collect(),
            clients: self.clients.iter().map(endpoint).collect(),
            routes: client_routes(shape, site, |_, server| {
                let address = self.servers[server].slot.address(family);
                (address, address)
            }),
            path,
            proof: None,
            wiring,
        }
    }
}

/// Adds containers on a bridge of each node. Each node has a network of its own, with its bridge as the gateway.
pub(crate) fn add_on_bridges(
    wiring: &mut Wiring,
    underlay: &Underlay,
    shape: &Shape,
    site: &NetworkParameters,
) -> NodeContainers {
    for node in &underlay.nodes {
        let gateway = gateway(node.number());
        wiring.add_bridge(node.space, BRIDGE, Some(gateway.mac()));
        wiring.add_address(node.space, BRIDGE, gateway);
    }
    let mut plugged = vec![0_u16; underlay.nodes.len()];
    NodeContainers::place(shape, |at, name, port| {
        let node = underlay.nodes[at];
        let slot = LabSubnet::docker(node.number()).slot(2 + plugged[at]);
        plugged[at] += 1;
        let space = wiring.add_namespace(name, &[]);
        let port = format!("veth-{port}");
        let near = DevicePairEnd::new(node.space, port.as_str()).attached_to(BRIDGE);
        let far = DevicePairEnd::new(space, UPLINK).with_mac(slot.mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(site.options.rate));
        wiring.add_address(space, UPLINK, slot);
        let gateway = gateway(node.number());
        wiring.routes.push(IpRoute::default_via(space, gateway.address(wiring.family)));
        wiring.add_neighbour(space, UPLINK, gateway);
        wiring.add_neighbour(node.space, BRIDGE, slot);
        NodeContainer { node: at, space, slot, port }
    })
}

/// Returns the slot of the bridge's own interface on a node.
fn gateway(node: u8) -> InterfaceSlot {
    LabSubnet::docker(node).slot(1)
}

/// Returns the path from a container to its node's bridge, both ends included.
pub(crate) fn path_to_bridge(underlay: &Underlay, pod: &NodeContainer) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node].space;
    vec![
        Waypoint::device(HopKind::Veth, pod.space, UPLINK),
        Waypoint::device(HopKind::Veth, node, pod.port.as_str()),
        Waypoint::device(HopKind::Bridge, node, BRIDGE),
    ]
}
