//! `CLIENT/SERVER`: client and server placed in different ways on their nodes, each as in `host` or on Docker's default
//! bridge.
//!
//! The placements are: `direct` and `host`, the node's own namespace (a program without a container, and one in a
//! container with the host's network); `bridge`, a container on Docker's default bridge; and `published`, such a
//! container whose port its node publishes. From another node, a container on a bridge can be reached by a published
//! port only, because Docker drops packets to its own address. Across nodes, a `bridge` server is therefore dialled
//! like a `published` one.

use super::bridge::{DOCKER_HOST, docker_requirements};
use super::{LabNetworkDefinition, bridge, host, published, veth_and_bridge_requirements};
use crate::address::InterfaceSlot;
use crate::docker_rules::{self, BRIDGE, FORWARD, dnat_rule, host_rules};
use crate::layout::{Layout, NamespaceEndpoint, PathProof, Waypoint, client_routes};
use crate::nodes::{DockerBridge, UPLINK};
use crate::placement::NodePlacement;
use crate::underlay::{MOST_NODES, Underlay, check_nodes, inner_mtu, parse_link};
use crate::wiring::{NamespaceId, Ruleset, Wiring};
use std::ops::RangeInclusive;
use tare_network::{
    Error, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};

/// Placement of a client or a server on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SidePlacement {
    /// The node's own namespace.
    Node,
    /// A container on Docker's default bridge.
    Bridge,
    /// A container on Docker's default bridge, with its port published on the node's address.
    Published,
}

/// Options of a pair with Docker's bridge on either side.
const WITH_DOCKER: &[NetworkOption] = &NetworkOption::DEVICE_PAIRS;

/// Network that places client and server in given ways.
pub(super) struct PlacementPair {
    name: &'static str,
    summary: &'static str,
    client: SidePlacement,
    server: SidePlacement,
}

const fn pair(
    name: &'static str,
    client: SidePlacement,
    server: SidePlacement,
    summary: &'static str,
) -> PlacementPair {
    PlacementPair { name, summary, client, server }
}

/// All pairs: those of the MySQL study (direct, host and bridge on either side), and those with a published port.
pub(super) const PAIRS: [PlacementPair; 12] = {
    use SidePlacement::{Bridge, Node, Published};
    [
        pair("direct/direct", Node, Node, "neither side in a container"),
        pair(
            "direct/host",
            Node,
            Node,
            "a client without a container, a server on its host's network",
        ),
        pair(
            "direct/bridge",
            Node,
            Bridge,
            "a client without a container, a server on Docker's bridge",
        ),
        pair(
            "direct/published",
            Node,
            Published,
            "a client without a container, a server behind a published port",
        ),
        pair(
            "host/direct",
            Node,
            Node,
            "a client on its host's network, a server without a container",
        ),
        pair("host/host", Node, Node, "both sides on their hosts' networks"),
        pair(
            "host/bridge",
            Node,
            Bridge,
            "a client on its host's network, a server on Docker's bridge",
        ),
        pair(
            "host/published",
            Node,
            Published,
            "a client on its host's network, a server behind a published port",
        ),
        pair(
            "bridge/direct",
            Bridge,
            Node,
            "a client on Docker's bridge, a server without a container",
        ),
        pair(
            "bridge/host",
            Bridge,
            Node,
            "a client on Docker's bridge, a server on its host's network",
        ),
        pair("bridge/bridge", Bridge, Bridge, "both sides on Docker's bridges"),
        pair(
            "bridge/published",
            Bridge,
            Published,
            "a client on Docker's bridge, a server behind a published port",
        ),
    ]
};

impl PlacementPair {
    /// Returns the least number of nodes. A bridge/published pair needs two: Docker does not apply its rules for
    /// published ports to packets from its own bridge, for which it has a proxy.
    const fn min_nodes(&self) -> u32 {
        if matches!((self.client, self.server), (SidePlacement::Bridge, SidePlacement::Published)) {
            2
        } else {
            1
        }
    }

    fn has_docker(&self) -> bool {
        self.client != SidePlacement::Node || self.server != SidePlacement::Node
    }
}

impl LabNetworkDefinition for PlacementPair {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: self.name,
            summary: self.summary,
            stands_for: "programs on Docker hosts, each side placed in its own way",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: if self.has_docker() { WITH_DOCKER } else { &[NetworkOption::Without] },
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        self.min_nodes()..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        if self.has_docker() { docker_requirements() } else { veth_and_bridge_requirements() }
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_nodes(self.name, self.min_nodes(), shape)?;
        match (self.client, self.server, shape.nodes) {
            (SidePlacement::Node, SidePlacement::Node, _) => host::layout(self.name, shape, site),
            (SidePlacement::Node, SidePlacement::Published, 1) => {
                published::PublishedPortNetwork.layout(shape, site)
            }
            (SidePlacement::Bridge, SidePlacement::Bridge, 1) => {
                bridge::DockerBridgeNetwork.layout(shape, site)
            }
            (client, server, _) => layout(client, server, shape, site),
        }
    }
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
pub(super) fn layout(
    client: SidePlacement,
    server: SidePlacement,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
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
    let is_published =
        server == SidePlacement::Published || (server == SidePlacement::Bridge && shape.nodes > 1);
    let published = |node: usize| {
        if is_published { published_ports(node, &servers, &outer, site) } else { Vec::new() }
    };
    for (at, bridge) in docker.bridges.iter().enumerate() {
        let text = host_rules(shape.family, bridge.subnet(), &published(at));
        wiring.rules.push(Ruleset { space: docker.underlay.nodes[at].space, text });
    }
    let listens = |one: usize| match server {
        SidePlacement::Node => outer[one].address(shape.family),
        SidePlacement::Bridge | SidePlacement::Published => servers[one].slot.address(shape.family),
    };
    let first = published(servers[0].node).into_iter().next();
    let sides = PairPath {
        docker: &docker,
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
    mine.iter().flat_map(|&one| site.ports.iter().map(move |&port| publish(one, port))).collect()
}

/// Path between client 0 and its server.
struct PairPath<'a> {
    docker: &'a DockerHosts,
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
            let rule = dnat_rule(wiring.family, published, "tcp");
            let tracking = Hop::new(HopKind::Conntrack, "nf_conntrack", place);
            let translated = Hop::new(HopKind::Nat, "nat/DOCKER", place).with_detail(rule);
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
            let forwarded = Hop::new(HopKind::Filter, "filter/FORWARD", place)
                .with_detail(format!("policy drop; counter {FORWARD}"));
            let masked = Hop::new(HopKind::Nat, "nat/POSTROUTING", place)
                .with_detail(format!("oifname != \"{BRIDGE}\" counter masquerade"));
            path.extend([forwarded, masked].map(Waypoint::Other));
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
