//! `published`: a client on the node, a server on Docker's bridge behind a port published on the node's own address.

use super::Recipe;
use super::bridge::{DOCKER_HOST, docker_needs};
use super::pairs::{self, Place};
use crate::docker::{self, BRIDGE, host_rules, translation};
use crate::layout::{Endpoint, Layout, Proof, Waypoint, one_node, routes};
use crate::nodes::{DockerBridge, Plugged, UPLINK, add_nodes};
use crate::underlay::{MOST_NODES, joins};
use crate::wiring::{Rules, SpaceId, Wiring};
use std::ops::RangeInclusive;
use tare_network::{About, Error, Hop, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Published;

impl Recipe for Published {
    fn about(&self) -> About {
        About {
            name: "published",
            summary: "a client on the node, a server on the bridge behind a published port",
            stands_for: "docker run --publish PORT:PORT, dialled by the host's own address",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        docker_needs()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        1..=MOST_NODES
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        if shape.nodes > 1 {
            joins("published", 1, shape)?;
            return pairs::layout(Place::Node, Place::Published, shape, site);
        }
        one_node("published", shape)?;
        DockerBridge::check_ports("published", shape.servers)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &DOCKER_HOST)[0];
        let outer = node.addresses(&mut wiring, shape.servers)?;
        let mut bridge = DockerBridge::add(&mut wiring, node, site.options.rate);
        let servers: Vec<Plugged> = (0..shape.servers)
            .map(|index| {
                let (name, port) = (format!("server-{index}"), format!("veth-s{index}"));
                bridge.plug(&mut wiring, &name, &port)
            })
            .collect();
        for server in &servers {
            wiring.neighbour(node.space, BRIDGE, server.slot);
            wiring.neighbour(server.space, UPLINK, bridge.gateway());
        }
        let published: Vec<docker::Published> = servers
            .iter()
            .zip(&outer)
            .flat_map(|(server, &on)| site.ports.iter().map(move |&port| (server, on, port)))
            // A single server is published on all addresses of the node, as users do; several cannot be.
            .map(|(server, on, port)| docker::Published {
                on: (shape.servers > 1).then_some(on),
                port,
                server: server.slot,
            })
            .collect();
        let text = host_rules(shape.family, bridge.subnet(), &published);
        wiring.rules.push(Rules { space: node.space, text });
        let client = Endpoint { space: Some(node.space), address: outer[0].address(shape.family) };
        Ok(Layout {
            servers: servers
                .iter()
                .map(|one| Endpoint {
                    space: Some(one.space),
                    address: one.slot.address(shape.family),
                })
                .collect(),
            clients: (0..shape.clients).map(|_| client.clone()).collect(),
            routes: routes(shape, site, |_, server| {
                let listen = servers[server].slot.address(shape.family);
                (listen, outer[server].address(shape.family))
            }),
            path: path(&wiring, node.space, servers[0].space, published.first()),
            proof: Some(Proof::Rule { space: node.space, rule: "dnat to" }),
            wiring,
        })
    }
}

fn path(
    wiring: &Wiring,
    node: SpaceId,
    server: SpaceId,
    published: Option<&docker::Published>,
) -> Vec<Waypoint> {
    let place = wiring.name(node);
    let translated = published.map(|published| {
        Hop::new(HopKind::Nat, "nat/DOCKER", place).with_detail(translation(
            wiring.family,
            published,
            "tcp",
        ))
    });
    let mut path = vec![Waypoint::Other(Hop::new(HopKind::Conntrack, "nf_conntrack", place))];
    path.extend(translated.map(Waypoint::Other));
    path.extend([
        Waypoint::device(HopKind::Bridge, node, BRIDGE),
        Waypoint::device(HopKind::Veth, node, "veth-s0"),
        Waypoint::device(HopKind::Veth, server, UPLINK),
    ]);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_network::Family;

    #[test]
    fn what_is_dialled_is_translated_to_where_the_server_listens() {
        let site = Site { ports: vec![7001, 7002], ..Site::default() };
        for (family, servers) in [(Family::Ipv4, 1), (Family::Ipv4, 2), (Family::Ipv6, 2)] {
            let shape = Shape { family, servers, clients: 2, ..Shape::default() };
            let layout = Published.layout(&shape, &site).unwrap();
            assert_eq!(layout.routes.len(), 4);
            let rules: Vec<&str> = layout.wiring.rules[0].text.lines().collect();
            for route in &layout.routes {
                for transport in ["tcp", "udp"] {
                    // A single server is published on all addresses of the node.
                    let on = format!("daddr {} {transport}", route.dial.ip());
                    let to =
                        format!("dport {} counter dnat to {}", route.dial.port(), route.listen);
                    let is_it = |rule: &&&str| {
                        rule.ends_with(&to)
                            && rule.contains(transport)
                            && (servers == 1 || rule.contains(&on))
                    };
                    assert_eq!(rules.iter().filter(is_it).count(), 1, "{route:?}: {rules:#?}");
                }
            }
        }
    }
}
