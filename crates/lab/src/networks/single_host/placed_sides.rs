//! Client and server in a namespace of their own node or on Docker's default bridge there, on one node or several.

use crate::networks::single_host::bridge::DOCKER_HOST;
use crate::plan::address::InterfaceSlot;
use crate::plan::docker_rules;
use crate::plan::docker_rules::{BRIDGE, forward_hop, masquerade_hop, port_hop};
use crate::plan::layout::{Layout, NamespaceEndpoint, PathProof, Waypoint, client_routes};
use crate::plan::nodes::{DockerBridge, UPLINK};
use crate::plan::placement::NodePlacement;
use crate::plan::underlay::{Underlay, inner_mtu, parse_link};
use crate::plan::wiring::{NamespaceId, Ruleset, Wiring};
use std::collections::BTreeSet;
use tare_network::{Error, FirewallBackend, Hop, HopKind, NetworkParameters, Shape};

/// Placement of a client or a server on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SidePlacement {
    /// The node's own namespace.
    Node,
    /// A container on Docker's default bridge.
    Bridge,
    /// A container on Docker's default bridge, with its port published on the node's address.
    Published,
}

/// Client or server that has been placed.
#[derive(Clone, Copy)]
struct PlacedSide {
    node: usize,
    space: NamespaceId,
    /// Position of its address in the address plan.
    slot: InterfaceSlot,
}

/// Nodes with Docker's default bridge on each.
struct DockerHosts {
    underlay: Underlay,
    bridges: Vec<DockerBridge>,
}

impl DockerHosts {
    fn add(wiring: &mut Wiring, shape: &Shape, site: &NetworkParameters) -> Result<Self, Error> {
        let underlay = Underlay::add(wiring, shape, &DOCKER_HOST)?;
        let bridge = |&node| DockerBridge::add(wiring, node, site.options.rate);
        let bridges = underlay.nodes.iter().map(bridge).collect();
        Ok(Self { underlay, bridges })
    }

    /// Adds the idle containers that the user asked for to every node with a server.
    fn add_idle_containers(
        &mut self,
        wiring: &mut Wiring,
        servers: &[PlacedSide],
        site: &NetworkParameters,
    ) {
        let idle = site.options.idle.unwrap_or_default();
        let nodes: BTreeSet<usize> = servers.iter().map(|server| server.node).collect();
        for (first, node) in (0..).step_by(idle.max(1) as usize).zip(nodes) {
            self.bridges[node].add_idle_containers(wiring, first..first + idle);
        }
    }

    /// Adds a client or a server on a node, in a container of this name if it is not placed in the node's own
    /// namespace.
    fn add_side(
        &mut self,
        wiring: &mut Wiring,
        node: usize,
        place: SidePlacement,
        name: &str,
    ) -> PlacedSide {
        let on = self.underlay.nodes[node];
        if place == SidePlacement::Node {
            return PlacedSide { node, space: on.space, slot: on.slot(0) };
        }
        let short = name.replacen("server-", "s", 1).replacen("client-", "c", 1);
        let bridge = &mut self.bridges[node];
        let plugged = bridge.add_container(wiring, name, &format!("veth-{short}"));
        wiring.add_neighbour(on.space, BRIDGE, plugged.slot);
        wiring.add_neighbour(plugged.space, UPLINK, bridge.gateway());
        PlacedSide { node, space: plugged.space, slot: plugged.slot }
    }
}

/// Lays out pairs with at least one side on a bridge. Those on one node that are networks of their own are laid out
/// elsewhere.
pub(crate) fn layout(
    client: SidePlacement,
    server: SidePlacement,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    let measured = shape.servers.saturating_add(shape.clients);
    let idle = site.options.idle.unwrap_or_default();
    DockerBridge::check_ports("the bridge of a node", measured.saturating_add(idle))?;
    let mut wiring = Wiring::new(shape.family, inner_mtu(shape, &parse_link(shape)?, 0));
    let mut docker = DockerHosts::add(&mut wiring, shape, site)?;
    let spread = NodePlacement::for_shape(shape);
    let outer = docker.underlay.server_slots(&mut wiring, shape)?;
    let servers: Vec<PlacedSide> = (0..shape.servers as usize)
        .map(|one| {
            docker.add_side(&mut wiring, spread.server_node(one), server, &format!("server-{one}"))
        })
        .collect();
    let clients: Vec<PlacedSide> = (0..shape.clients as usize)
        .map(|one| {
            docker.add_side(&mut wiring, spread.client_node(one), client, &format!("client-{one}"))
        })
        .collect();
    docker.add_idle_containers(&mut wiring, &servers, site);
    let is_published =
        server == SidePlacement::Published || (server == SidePlacement::Bridge && shape.nodes > 1);
    let published = |node: usize| {
        if is_published { published_ports(node, &servers, &outer, site) } else { Vec::new() }
    };
    let backend = site.options.firewall.unwrap_or_default();
    for (at, bridge) in docker.bridges.iter().enumerate() {
        let text = bridge.published_rules(backend, shape.family, &published(at));
        wiring.rules.push(Ruleset { space: docker.underlay.nodes[at].space, text });
    }
    let listens = |one: usize| match server {
        SidePlacement::Node => outer[one].address(shape.family),
        SidePlacement::Bridge | SidePlacement::Published => servers[one].slot.address(shape.family),
    };
    let first = published(servers[0].node).into_iter().next();
    let sides = PairPath {
        docker: &docker,
        backend,
        client: (client, clients[0]),
        server: servers[0],
        published: first,
    };
    let endpoint = |side: &PlacedSide| NamespaceEndpoint {
        space: Some(side.space),
        address: side.slot.address(shape.family),
    };
    Ok(Layout {
        path: sides.path(&wiring),
        proof: sides.proof(),
        servers: servers.iter().map(endpoint).collect(),
        clients: clients.iter().map(endpoint).collect(),
        routes: client_routes(shape, site, |_, one| match is_published {
            true => (listens(one), outer[one].address(shape.family)),
            false => (listens(one), listens(one)),
        }),
        wiring,
    })
}

/// Returns the published ports of a node's servers; a single server's ports are published on all of the node's
/// addresses, as is usual.
fn published_ports(
    node: usize,
    servers: &[PlacedSide],
    outer: &[InterfaceSlot],
    site: &NetworkParameters,
) -> Vec<docker_rules::PublishedPort> {
    let mine: Vec<(&PlacedSide, InterfaceSlot)> = servers
        .iter()
        .zip(outer.iter().copied())
        .filter(|(server, _)| server.node == node)
        .collect();
    let several = mine.len() > 1;
    let publish = |(server, on): (&PlacedSide, InterfaceSlot), port| docker_rules::PublishedPort {
        host_address: several.then_some(on),
        port,
        server: server.slot,
    };
    mine.iter()
        .flat_map(|&one| site.published_ports().map(move |port| publish(one, port)))
        .collect()
}

/// Path between client 0 and its server.
struct PairPath<'a> {
    docker: &'a DockerHosts,
    backend: FirewallBackend,
    client: (SidePlacement, PlacedSide),
    server: PlacedSide,
    published: Option<docker_rules::PublishedPort>,
}

impl PairPath<'_> {
    fn node_space(&self, side: PlacedSide) -> NamespaceId {
        self.docker.underlay.nodes[side.node].space
    }

    fn is_across_nodes(&self) -> bool {
        self.client.1.node != self.server.node
    }

    fn proof(&self) -> Option<PathProof> {
        let (place, client) = self.client;
        Some(match (&self.published, place) {
            (Some(_), _) => {
                PathProof::Rule { space: self.node_space(self.server), rule: "dnat to" }
            }
            (None, SidePlacement::Bridge) if self.is_across_nodes() => {
                PathProof::Rule { space: self.node_space(client), rule: "masquerade" }
            }
            (None, _) => {
                PathProof::Device { space: self.node_space(self.server), name: BRIDGE.to_owned() }
            }
        })
    }

    fn path(&self, wiring: &Wiring) -> Vec<Waypoint> {
        let (place, client) = self.client;
        let mut path = match place {
            SidePlacement::Node => Vec::new(),
            _ => self.through_bridge(wiring, client),
        };
        if self.is_across_nodes() {
            path.extend(self.docker.underlay.path(client.node, self.server.node));
        }
        if let Some(published) = &self.published {
            let place = wiring.name(self.node_space(self.server));
            let tracking = Hop::new(HopKind::Conntrack, "nf_conntrack", place);
            let translated = port_hop(self.backend, wiring.family, published, place);
            path.extend([tracking, translated].map(Waypoint::Other));
        }
        if self.server.space != self.node_space(self.server) {
            path.extend(self.to_server());
        }
        path
    }

    /// Returns the path from the client's container to its node and, if the packet leaves the node, through
    /// masquerading.
    fn through_bridge(&self, wiring: &Wiring, client: PlacedSide) -> Vec<Waypoint> {
        let node = self.node_space(client);
        let mut path = vec![
            Waypoint::device(HopKind::Veth, client.space, UPLINK),
            Waypoint::device(HopKind::Veth, node, "veth-c0"),
            Waypoint::device(HopKind::Bridge, node, BRIDGE),
        ];
        let place = wiring.name(node);
        path.push(Waypoint::Other(Hop::new(HopKind::Conntrack, "nf_conntrack", place)));
        if self.is_across_nodes() {
            let rules = [forward_hop(self.backend, place), masquerade_hop(self.backend, place)];
            path.extend(rules.map(Waypoint::Other));
        }
        path
    }

    fn to_server(&self) -> [Waypoint; 3] {
        let node = self.node_space(self.server);
        [
            Waypoint::device(HopKind::Bridge, node, BRIDGE),
            Waypoint::device(HopKind::Veth, node, "veth-s0"),
            Waypoint::device(HopKind::Veth, self.server.space, UPLINK),
        ]
    }
}
