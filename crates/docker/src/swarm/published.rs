//! `swarm:published-host`, `swarm:published`: clients on their nodes' own networks, servers behind ports that are
//! published: on the server's own node, or on every node by the routing mesh.

use super::crew::Crew;
use super::overlay::{VXLAN, create, request};
use super::wanted::{Endpoint as By, Mode, On, Port, Wanted};
use super::{OPTIONS, Recipe, Spread, place_of};
use crate::networks::laid::{Endpoint, Laid, Step, names, on_network, routes};
use crate::networks::published::outside;
use crate::want::Want;
use std::net::SocketAddr;
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

/// Where ports are published.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Published {
    /// On the server's own node.
    Host,
    /// On every node: clients dial their own.
    Ingress,
}

impl Recipe for Published {
    fn about(&self) -> About {
        let (name, summary, stands_for) = match self {
            Self::Host => (
                "swarm:published-host",
                "clients on their nodes' own networks, tasks behind ports published on the tasks' nodes",
                "docker service create --publish mode=host",
            ),
            Self::Ingress => (
                "swarm:published",
                "clients on their nodes' own networks, tasks behind ports of the ingress routing mesh",
                "docker service create --publish",
            ),
        };
        let source = "https://docs.docker.com/engine/swarm/ingress/";
        About { name, summary, stands_for, source, options: OPTIONS }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        match self {
            Self::Host => Vec::new(),
            Self::Ingress => vec![Want::Kernel("ip_vs")],
        }
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let network = crew.network(request(shape, VXLAN))?;
        let servers = names("server", shape.servers).enumerate().map(|(n, name)| Wanted {
            endpoint: self.endpoint(),
            ports: site.ports.iter().map(|&port| self.port(n, port, &site.ports)).collect(),
            ..Wanted::new(name, nodes.of_server(n), On::Network(network.clone()))
        });
        let clients = names("client", shape.clients).enumerate();
        let clients = clients.map(|(n, name)| Wanted::new(name, nodes.of_client(n), On::Host));
        let mut started = crew.tasks(&servers.chain(clients).collect::<Vec<_>>())?.into_iter();
        let servers: Vec<Endpoint> = started
            .by_ref()
            .take(shape.servers as usize)
            .map(|one| on_network(one, &network, shape))
            .collect::<Result<_, _>>()?;
        let clients = started
            .enumerate()
            .map(|(n, container)| Endpoint { container, address: nodes.of_client(n).address })
            .collect();
        let mut all = routes(shape, site, |server, port| {
            // Whatever network its packets come by, the server takes them.
            let any = match servers[server].address {
                std::net::IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
                std::net::IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
            };
            let outside = outside(server, port, &site.ports);
            (SocketAddr::new(any, port), SocketAddr::new(nodes.of_server(server).address, outside))
        });
        if *self == Self::Ingress {
            for route in &mut all {
                route.dial.set_ip(nodes.of_client(route.client).address);
            }
        }
        Ok(Laid { routes: all, servers, clients, path: self.path(nodes, site) })
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        let mut lines = vec![super::script::image()];
        lines.push(create(shape, VXLAN, ""));
        let mode = if *self == Self::Host { "host" } else { "ingress" };
        let publish = |port: &u16| {
            ["tcp", "udp"]
                .map(|by| {
                    format!("--publish published={port},target={port},protocol={by},mode={mode}")
                })
                .join(" ")
        };
        let publish: Vec<String> = site.ports.iter().map(publish).collect();
        let servers = format!("--network tare {}", publish.join(" "));
        lines.extend(super::script::sides(shape, &servers, "--network host"));
        lines
    }
}

impl Published {
    /// Ports of the mesh belong to an address of the service's own.
    fn endpoint(self) -> By {
        match self {
            Self::Host => By::Dnsrr,
            Self::Ingress => By::Vip,
        }
    }

    fn port(self, server: usize, port: u16, ports: &[u16]) -> Port {
        let mode = match self {
            Self::Host => Mode::Host,
            Self::Ingress => Mode::Ingress,
        };
        Port { port, outside: outside(server, port, ports), mode }
    }

    fn path(self, nodes: &Spread<'_>, site: &Site) -> Vec<Step> {
        let port = site.ports.first().copied().unwrap_or_default();
        let (client, server) = (nodes.client(0), nodes.server(0));
        let nat = |node, name: &str| {
            Step::Node(
                Hop::new(HopKind::Nat, name, place_of(node)).with_detail(format!("port {port}")),
            )
        };
        let bridge = |node| {
            Step::Node(
                Hop::new(HopKind::Bridge, super::crew::GATEWAY, place_of(node))
                    .with_detail("driver bridge"),
            )
        };
        match self {
            Self::Host => vec![nat(server, "nat/DOCKER"), bridge(server)],
            Self::Ingress => vec![
                nat(client, "nat/DOCKER-INGRESS"),
                bridge(client),
                Step::Node(
                    Hop::new(HopKind::Nat, "ip_vs", place_of(client))
                        .with_detail("the mesh's own namespace"),
                ),
                Step::Node(
                    Hop::new(HopKind::Encapsulation, "vxlan0", place_of(client))
                        .with_detail("network ingress"),
                ),
            ],
        }
    }
}
