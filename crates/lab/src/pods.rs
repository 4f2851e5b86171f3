//! The containers of a network that joins nodes, each on its node, and the layout that follows.

use crate::address::{Slot, Subnet};
use crate::layout::{Endpoint, Layout, Waypoint, routes, server_of};
use crate::nodes::UPLINK;
use crate::spread::Spread;
use crate::underlay::Underlay;
use crate::wiring::{Cable, End, Route, SpaceId, Wiring};
use tare_network::{HopKind, Shape, Site};

/// The bridge of a node, as the CNI's bridge plugin calls it.
pub(crate) const BRIDGE: &str = "cni0";

/// A container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pod {
    /// The node that it is on.
    pub(crate) node: usize,
    /// Its namespace.
    pub(crate) space: SpaceId,
    /// Its interface.
    pub(crate) slot: Slot,
    /// The device by which its node has it.
    pub(crate) port: String,
}

/// All containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pods {
    /// The servers.
    pub(crate) servers: Vec<Pod>,
    /// The clients.
    pub(crate) clients: Vec<Pod>,
}

impl Pods {
    /// The containers of a shape, spread over its nodes, each made by `make`: from its node, its name, and the end of
    /// its port's name.
    pub(crate) fn spread(
        shape: &Shape,
        mut make: impl FnMut(usize, String, String) -> Pod,
    ) -> Self {
        let spread = Spread::of(shape);
        let servers = (0..shape.servers as usize)
            .map(|index| make(spread.server(index), format!("server-{index}"), format!("s{index}")))
            .collect();
        let clients = (0..shape.clients as usize)
            .map(|index| make(spread.client(index), format!("client-{index}"), format!("c{index}")))
            .collect();
        Self { servers, clients }
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Pod> {
        self.servers.iter().chain(&self.clients)
    }

    /// Every client with its server.
    pub(crate) fn pairs<'a>(
        &'a self,
        shape: &'a Shape,
    ) -> impl Iterator<Item = (&'a Pod, &'a Pod)> + 'a {
        let server = move |index| &self.servers[server_of(index, shape)];
        self.clients.iter().enumerate().map(move |(index, client)| (client, server(index)))
    }

    /// The layout in which each client dials its server's own address, over this path.
    pub(crate) fn layout(
        &self,
        wiring: Wiring,
        path: Vec<Waypoint>,
        shape: &Shape,
        site: &Site,
    ) -> Layout {
        let family = wiring.family;
        let endpoint =
            |pod: &Pod| Endpoint { space: Some(pod.space), address: pod.slot.address(family) };
        Layout {
            servers: self.servers.iter().map(endpoint).collect(),
            clients: self.clients.iter().map(endpoint).collect(),
            routes: routes(shape, site, |_, server| {
                let address = self.servers[server].slot.address(family);
                (address, address)
            }),
            path,
            proof: None,
            wiring,
        }
    }
}

/// Containers on a bridge of each node's own, each node with a network of its own and its bridge as their gateway.
pub(crate) fn on_bridges(
    wiring: &mut Wiring,
    underlay: &Underlay,
    shape: &Shape,
    site: &Site,
) -> Pods {
    for node in &underlay.nodes {
        let gateway = gateway(node.number());
        wiring.bridge(node.space, BRIDGE, Some(gateway.mac()));
        wiring.address(node.space, BRIDGE, gateway);
    }
    let mut plugged = vec![0_u16; underlay.nodes.len()];
    Pods::spread(shape, |at, name, port| {
        let node = underlay.nodes[at];
        let slot = Subnet::docker(node.number()).slot(2 + plugged[at]);
        plugged[at] += 1;
        let space = wiring.space(name, &[]);
        let port = format!("veth-{port}");
        let near = End::new(node.space, port.as_str()).plugged_into(BRIDGE);
        let far = End::new(space, UPLINK).with_mac(slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(site.options.rate));
        wiring.address(space, UPLINK, slot);
        let gateway = gateway(node.number());
        wiring.routes.push(Route::default_via(space, gateway.address(wiring.family)));
        wiring.neighbour(space, UPLINK, gateway);
        wiring.neighbour(node.space, BRIDGE, slot);
        Pod { node: at, space, slot, port }
    })
}

/// The bridge's own interface on a node.
fn gateway(node: u8) -> Slot {
    Subnet::docker(node).slot(1)
}

/// From a container to its node's bridge, both ends included.
pub(crate) fn to_bridge(underlay: &Underlay, pod: &Pod) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node].space;
    vec![
        Waypoint::device(HopKind::Veth, pod.space, UPLINK),
        Waypoint::device(HopKind::Veth, node, pod.port.as_str()),
        Waypoint::device(HopKind::Bridge, node, BRIDGE),
    ]
}
