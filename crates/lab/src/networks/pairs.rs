//! `CLIENT/SERVER`: the two sides in different places, each as a side of `host` or of Docker's default bridge.
//!
//! A place says how a side hangs on its node: `direct` and `host` are the node's own namespace (a program without a
//! container, and one in a container with the host's network), `bridge` is a container on Docker's default bridge, and
//! `published` one whose port its node publishes. From another node a container on a bridge is reached by a published
//! port only (Docker drops what comes for its own address), so there `bridge` as a server is dialled like `published`.

use super::bridge::{DOCKER_HOST, docker_needs};
use super::{Recipe, bridge, host, published, wired};
use crate::address::Slot;
use crate::docker::{self, BRIDGE, FORWARD, host_rules, translation};
use crate::layout::{Endpoint, Layout, Proof, Waypoint, routes};
use crate::nodes::{DockerBridge, UPLINK};
use crate::spread::Spread;
use crate::underlay::{MOST_NODES, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{Rules, SpaceId, Wiring};
use std::ops::RangeInclusive;
use tare_network::{About, Error, Hop, HopKind, Need, NetworkOption, Shape, Site};

/// How a side hangs on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the node's own namespace.
    Node,
    /// On Docker's default bridge.
    Bridge,
    /// The same, with its port published on the node's address.
    Published,
}

/// What changes a pair with Docker's bridge on a side.
const WITH_DOCKER: &[NetworkOption] = &NetworkOption::CABLED;

/// Two places.
pub(super) struct Pair {
    name: &'static str,
    summary: &'static str,
    client: Place,
    server: Place,
}

const fn pair(name: &'static str, client: Place, server: Place, summary: &'static str) -> Pair {
    Pair { name, summary, client, server }
}

/// All pairs: those of the MySQL study (direct, host and bridge on either side), and those with a published port.
pub(super) const PAIRS: [Pair; 12] = {
    use Place::{Bridge, Node, Published};
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

impl Pair {
    /// Docker keeps what comes from its own bridge from the ports that it publishes: it has a proxy for that.
    const fn least(&self) -> u32 {
        if matches!((self.client, self.server), (Place::Bridge, Place::Published)) { 2 } else { 1 }
    }

    fn has_docker(&self) -> bool {
        self.client != Place::Node || self.server != Place::Node
    }
}

impl Recipe for Pair {
    fn about(&self) -> About {
        About {
            name: self.name,
            summary: self.summary,
            stands_for: "programs on Docker hosts, each side placed in its own way",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: if self.has_docker() { WITH_DOCKER } else { &[NetworkOption::Without] },
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        self.least()..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        if self.has_docker() { docker_needs() } else { wired() }
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        joins(self.name, self.least(), shape)?;
        match (self.client, self.server, shape.nodes) {
            (Place::Node, Place::Node, _) => host::layout(self.name, shape, site),
            (Place::Node, Place::Published, 1) => published::Published.layout(shape, site),
            (Place::Bridge, Place::Bridge, 1) => bridge::Bridge.layout(shape, site),
            (client, server, _) => layout(client, server, shape, site),
        }
    }
}

/// Where one side is.
#[derive(Clone, Copy)]
struct Side {
    node: usize,
    space: SpaceId,
    /// Its own interface.
    slot: Slot,
}

/// Docker on every node.
struct Docker {
    underlay: Underlay,
    bridges: Vec<DockerBridge>,
}

impl Docker {
    fn add(wiring: &mut Wiring, shape: &Shape, site: &Site) -> Result<Self, Error> {
        let underlay = Underlay::add(wiring, shape, &DOCKER_HOST)?;
        let bridge = |&node| DockerBridge::add(wiring, node, site.options.rate);
        let bridges = underlay.nodes.iter().map(bridge).collect();
        Ok(Self { underlay, bridges })
    }

    /// A side on a node; in a container of this name where it is not the node's own.
    fn side(&mut self, wiring: &mut Wiring, node: usize, place: Place, name: &str) -> Side {
        let on = self.underlay.nodes[node];
        if place == Place::Node {
            return Side { node, space: on.space, slot: on.slot(0) };
        }
        let short = name.replacen("server-", "s", 1).replacen("client-", "c", 1);
        let bridge = &mut self.bridges[node];
        let plugged = bridge.plug(wiring, name, &format!("veth-{short}"));
        wiring.neighbour(on.space, BRIDGE, plugged.slot);
        wiring.neighbour(plugged.space, UPLINK, bridge.gateway());
        Side { node, space: plugged.space, slot: plugged.slot }
    }
}

/// Sides of which at least one is on a bridge, but for those that are networks of their own on one node.
pub(super) fn layout(
    client: Place,
    server: Place,
    shape: &Shape,
    site: &Site,
) -> Result<Layout, Error> {
    let mut wiring = Wiring::new(shape.family, mtu_inside(shape, &link_of(shape)?, 0));
    let mut docker = Docker::add(&mut wiring, shape, site)?;
    let spread = Spread::of(shape);
    let outer = docker.underlay.server_slots(&mut wiring, shape)?;
    let servers: Vec<Side> = (0..shape.servers as usize)
        .map(|one| docker.side(&mut wiring, spread.server(one), server, &format!("server-{one}")))
        .collect();
    let clients: Vec<Side> = (0..shape.clients as usize)
        .map(|one| docker.side(&mut wiring, spread.client(one), client, &format!("client-{one}")))
        .collect();
    let is_published = server == Place::Published || (server == Place::Bridge && shape.nodes > 1);
    let published = |node: usize| {
        if is_published { published_on(node, &servers, &outer, site) } else { Vec::new() }
    };
    for (at, bridge) in docker.bridges.iter().enumerate() {
        let text = host_rules(shape.family, bridge.subnet(), &published(at));
        wiring.rules.push(Rules { space: docker.underlay.nodes[at].space, text });
    }
    let listens = |one: usize| match server {
        Place::Node => outer[one].address(shape.family),
        Place::Bridge | Place::Published => servers[one].slot.address(shape.family),
    };
    let first = published(servers[0].node).into_iter().next();
    let sides = Sides {
        docker: &docker,
        client: (client, clients[0]),
        server: servers[0],
        published: first,
    };
    let endpoint = |side: &Side| Endpoint {
        space: Some(side.space),
        address: side.slot.address(shape.family),
    };
    Ok(Layout {
        path: sides.path(&wiring),
        proof: sides.proof(),
        servers: servers.iter().map(endpoint).collect(),
        clients: clients.iter().map(endpoint).collect(),
        routes: routes(shape, site, |_, one| match is_published {
            true => (listens(one), outer[one].address(shape.family)),
            false => (listens(one), listens(one)),
        }),
        wiring,
    })
}

/// The ports of the servers of a node; a single server's on all of the node's addresses, as users do.
fn published_on(
    node: usize,
    servers: &[Side],
    outer: &[Slot],
    site: &Site,
) -> Vec<docker::Published> {
    let mine: Vec<(&Side, Slot)> = servers
        .iter()
        .zip(outer.iter().copied())
        .filter(|(server, _)| server.node == node)
        .collect();
    let several = mine.len() > 1;
    let publish = |(server, on): (&Side, Slot), port| docker::Published {
        on: several.then_some(on),
        port,
        server: server.slot,
    };
    mine.iter().flat_map(|&one| site.ports.iter().map(move |&port| publish(one, port))).collect()
}

/// Client 0 and its server.
struct Sides<'a> {
    docker: &'a Docker,
    client: (Place, Side),
    server: Side,
    published: Option<docker::Published>,
}

impl Sides<'_> {
    fn node(&self, side: Side) -> SpaceId {
        self.docker.underlay.nodes[side.node].space
    }

    fn apart(&self) -> bool {
        self.client.1.node != self.server.node
    }

    fn proof(&self) -> Option<Proof> {
        let (place, client) = self.client;
        Some(match (&self.published, place) {
            (Some(_), _) => Proof::Rule { space: self.node(self.server), rule: "dnat to" },
            (None, Place::Bridge) if self.apart() => {
                Proof::Rule { space: self.node(client), rule: "masquerade" }
            }
            (None, _) => Proof::Device { space: self.node(self.server), name: BRIDGE.to_owned() },
        })
    }

    fn path(&self, wiring: &Wiring) -> Vec<Waypoint> {
        let (place, client) = self.client;
        let mut path = match place {
            Place::Node => Vec::new(),
            _ => self.through_bridge(wiring, client),
        };
        if self.apart() {
            path.extend(self.docker.underlay.path(client.node, self.server.node));
        }
        if let Some(published) = &self.published {
            let place = wiring.name(self.node(self.server));
            let rule = translation(wiring.family, published, "tcp");
            let tracking = Hop::new(HopKind::Conntrack, "nf_conntrack", place);
            let translated = Hop::new(HopKind::Nat, "nat/DOCKER", place).with_detail(rule);
            path.extend([tracking, translated].map(Waypoint::Other));
        }
        if self.server.space != self.node(self.server) {
            path.extend(self.to_server());
        }
        path
    }

    /// From the client's container onto its node and, where it leaves that, into the node's own name.
    fn through_bridge(&self, wiring: &Wiring, client: Side) -> Vec<Waypoint> {
        let node = self.node(client);
        let mut path = vec![
            Waypoint::device(HopKind::Veth, client.space, UPLINK),
            Waypoint::device(HopKind::Veth, node, "veth-c0"),
            Waypoint::device(HopKind::Bridge, node, BRIDGE),
        ];
        let place = wiring.name(node);
        path.push(Waypoint::Other(Hop::new(HopKind::Conntrack, "nf_conntrack", place)));
        if self.apart() {
            let forwarded = Hop::new(HopKind::Filter, "filter/FORWARD", place)
                .with_detail(format!("policy drop; counter {FORWARD}"));
            let masked = Hop::new(HopKind::Nat, "nat/POSTROUTING", place)
                .with_detail(format!("oifname != \"{BRIDGE}\" counter masquerade"));
            path.extend([forwarded, masked].map(Waypoint::Other));
        }
        path
    }

    fn to_server(&self) -> [Waypoint; 3] {
        let node = self.node(self.server);
        [
            Waypoint::device(HopKind::Bridge, node, BRIDGE),
            Waypoint::device(HopKind::Veth, node, "veth-s0"),
            Waypoint::device(HopKind::Veth, self.server.space, UPLINK),
        ]
    }
}
