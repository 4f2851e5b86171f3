//! `published`: a client on the node, and a server on Docker's bridge behind a port published on the node's address.

use crate::networks::LabNetworkDefinition;
use crate::networks::single_host::bridge::{DOCKER_HOST, docker_requirements};
use crate::networks::single_host::placed_sides;
use crate::networks::single_host::placed_sides::SidePlacement;
use crate::plan::docker_rules;
use crate::plan::docker_rules::{BRIDGE, port_hop};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, PathProof, Waypoint, check_one_node, client_routes,
};
use crate::plan::nodes::{BridgedContainer, DockerBridge, UPLINK, add_nodes};
use crate::plan::underlay::{MOST_NODES, check_nodes};
use crate::plan::wiring::{NamespaceId, Ruleset, Wiring};
use std::ops::RangeInclusive;
use tare_network::{
    Error, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};

pub(crate) struct PublishedPortNetwork;

impl LabNetworkDefinition for PublishedPortNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "published",
            summary: "a client on the node, a server on the bridge behind a published port",
            stands_for: "docker run --publish PORT:PORT, dialled by the host's own address",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: &NetworkOption::PUBLISHED,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        docker_requirements()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        1..=MOST_NODES
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        if shape.nodes > 1 {
            check_nodes("published", 1, shape)?;
            return placed_sides::layout(
                SidePlacement::Node,
                SidePlacement::Published,
                shape,
                site,
            );
        }
        check_one_node("published", shape)?;
        let idle = site.options.idle.unwrap_or_default();
        DockerBridge::check_ports("published", shape.servers.saturating_add(idle))?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &DOCKER_HOST)[0];
        let outer = node.addresses(&mut wiring, shape.servers)?;
        let mut bridge = DockerBridge::add(&mut wiring, node, site.options.rate);
        let servers: Vec<BridgedContainer> = (0..shape.servers)
            .map(|index| {
                let (name, port) = (format!("server-{index}"), format!("veth-s{index}"));
                bridge.add_container(&mut wiring, &name, &port)
            })
            .collect();
        bridge.add_idle_containers(&mut wiring, 0..idle);
        for server in &servers {
            wiring.add_neighbour(node.space, BRIDGE, server.slot);
            wiring.add_neighbour(server.space, UPLINK, bridge.gateway());
        }
        let published: Vec<docker_rules::PublishedPort> = servers
            .iter()
            .zip(&outer)
            .flat_map(|(server, &on)| site.published_ports().map(move |port| (server, on, port)))
            // A single server is published on all addresses of the node, as is usual. Several servers cannot be: their
            // ports are the same.
            .map(|(server, on, port)| docker_rules::PublishedPort {
                host_address: (shape.servers > 1).then_some(on),
                port,
                server: server.slot,
            })
            .collect();
        let backend = site.options.firewall.unwrap_or_default();
        let text = bridge.published_rules(backend, shape.family, &published);
        wiring.rules.push(Ruleset { space: node.space, text });
        let place = wiring.name(node.space);
        let port = published.first().map(|one| port_hop(backend, shape.family, one, place));
        let client =
            NamespaceEndpoint { space: Some(node.space), address: outer[0].address(shape.family) };
        Ok(Layout {
            servers: servers
                .iter()
                .map(|one| NamespaceEndpoint {
                    space: Some(one.space),
                    address: one.slot.address(shape.family),
                })
                .collect(),
            clients: (0..shape.clients).map(|_| client.clone()).collect(),
            routes: client_routes(shape, site, |_, server| {
                let listen = servers[server].slot.address(shape.family);
                (listen, outer[server].address(shape.family))
            }),
            path: path(&wiring, node.space, servers[0].space, port),
            proof: Some(PathProof::Rule { space: node.space, rule: "dnat to" }),
            wiring,
        })
    }
}

fn path(
    wiring: &Wiring,
    node: NamespaceId,
    server: NamespaceId,
    translation: Option<Hop>,
) -> Vec<Waypoint> {
    let place = wiring.name(node);
    let mut path = vec![Waypoint::Other(Hop::new(HopKind::Conntrack, "nf_conntrack", place))];
    path.extend(translation.map(Waypoint::Other));
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
    fn further_ports_are_published_beside_those_of_the_workloads() {
        let spelled = "published+firewall=nftables+ports=3".parse().unwrap();
        let site = NetworkParameters::from_spec(&spelled, vec![20_002, 7001]);
        let layout = PublishedPortNetwork.layout(&Shape::default(), &site).unwrap();
        let rules = layout.wiring.rules[0].text.lines();
        let translated =
            rules.filter_map(|rule| rule.split("tcp dport ").nth(1)).filter_map(|rest| {
                let (port, to) = rest.split_once(" counter dnat to ")?;
                assert!(to.ends_with(&format!(":{port}")), "{to}");
                Some(port.to_owned())
            });
        let ports: Vec<String> = translated.collect();
        assert_eq!(ports, ["20002", "7001", "20001", "20003", "20004"]);
    }

    #[test]
    fn what_is_dialled_is_translated_to_where_the_server_listens() {
        let site = NetworkParameters { ports: vec![7001, 7002], ..NetworkParameters::default() };
        for (family, servers) in [(Family::Ipv4, 1), (Family::Ipv4, 2), (Family::Ipv6, 2)] {
            let shape = Shape { family, servers, clients: 2, ..Shape::default() };
            let layout = PublishedPortNetwork.layout(&shape, &site).unwrap();
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
