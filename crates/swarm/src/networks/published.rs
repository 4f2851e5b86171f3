//! Networks `swarm:published-host` and `swarm:published`: clients on their nodes' own networks, servers behind ports
//! that are published on the server's own node, or on every node by the routing mesh.

use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, node_name};
use crate::deployment::SwarmDeployment;
use crate::task_request::{EndpointMode as By, PublishMode, TaskAttachment, TaskPort, TaskRequest};
use std::net::SocketAddr;
use tare_docker::networks::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, build_routes, container_names, endpoint_on_network,
};
use tare_docker::networks::overlay::{VXLAN_OVERHEAD, overlay_command, overlay_request};
use tare_docker::networks::published::published_port;
use tare_docker::requirement::EngineRequirement;
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

/// Nodes on which ports are published.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SwarmPublishedNetwork {
    /// The server's own node.
    Host,
    /// Every node: clients connect to their own.
    Ingress,
}

impl SwarmNetworkDefinition for SwarmPublishedNetwork {
    fn info(&self) -> NetworkInfo {
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
        NetworkInfo { name, summary, stands_for, source, options: OPTIONS }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        match self {
            Self::Host => Vec::new(),
            Self::Ingress => vec![EngineRequirement::Kernel("ip_vs")],
        }
    }

    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let network = crew.create_network(overlay_request(shape, VXLAN_OVERHEAD))?;
        let servers =
            container_names("server", shape.servers).enumerate().map(|(n, name)| TaskRequest {
                endpoint: self.endpoint_mode(),
                ports: site
                    .ports
                    .iter()
                    .map(|&port| self.task_port(n, port, &site.ports))
                    .collect(),
                ..TaskRequest::new(
                    name,
                    nodes.server_node(n),
                    TaskAttachment::Network(network.clone()),
                )
            });
        let clients = container_names("client", shape.clients).enumerate();
        let clients = clients
            .map(|(n, name)| TaskRequest::new(name, nodes.client_node(n), TaskAttachment::Host));
        let mut started =
            crew.start_tasks(&servers.chain(clients).collect::<Vec<_>>())?.into_iter();
        let servers: Vec<NetworkEndpoint> = started
            .by_ref()
            .take(shape.servers as usize)
            .map(|one| endpoint_on_network(one, &network, shape))
            .collect::<Result<_, _>>()?;
        let clients = started
            .enumerate()
            .map(|(n, container)| NetworkEndpoint {
                container,
                address: nodes.client_node(n).address,
            })
            .collect();
        let mut all = build_routes(shape, site, |server, port| {
            // The server accepts packets from whichever network they arrive by.
            let any = match servers[server].address {
                std::net::IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
                std::net::IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
            };
            let outside = published_port(server, port, &site.ports);
            (
                SocketAddr::new(any, port),
                SocketAddr::new(nodes.server_node(server).address, outside),
            )
        });
        if *self == Self::Ingress {
            for route in &mut all {
                route.dial.set_ip(nodes.client_node(route.client).address);
            }
        }
        Ok(NetworkLayout { routes: all, servers, clients, path: self.path(nodes, site) })
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![super::script::image_line()];
        lines.push(overlay_command(shape, VXLAN_OVERHEAD, ""));
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
        lines.extend(super::script::service_lines(shape, &servers, "--network host"));
        lines
    }
}

impl SwarmPublishedNetwork {
    /// Returns the mode of the service's endpoint. Ports of the mesh belong to the virtual address of a service.
    fn endpoint_mode(self) -> By {
        match self {
            Self::Host => By::Dnsrr,
            Self::Ingress => By::Vip,
        }
    }

    fn task_port(self, server: usize, port: u16, ports: &[u16]) -> TaskPort {
        let mode = match self {
            Self::Host => PublishMode::Host,
            Self::Ingress => PublishMode::Ingress,
        };
        TaskPort { port, published: published_port(server, port, ports), mode }
    }

    fn path(self, nodes: &TaskPlacement<'_>, site: &NetworkParameters) -> Vec<PathStep> {
        let port = site.ports.first().copied().unwrap_or_default();
        let (client, server) = (nodes.client_index(0), nodes.server_index(0));
        let nat = |node, name: &str| {
            PathStep::Node(
                Hop::new(HopKind::Nat, name, node_name(node)).with_detail(format!("port {port}")),
            )
        };
        let bridge = |node| {
            PathStep::Node(
                Hop::new(HopKind::Bridge, crate::deployment::GWBRIDGE, node_name(node))
                    .with_detail("driver bridge"),
            )
        };
        match self {
            Self::Host => vec![nat(server, "nat/DOCKER"), bridge(server)],
            Self::Ingress => vec![
                nat(client, "nat/DOCKER-INGRESS"),
                bridge(client),
                PathStep::Node(
                    Hop::new(HopKind::Nat, "ip_vs", node_name(client))
                        .with_detail("the mesh's own namespace"),
                ),
                PathStep::Node(
                    Hop::new(HopKind::Encapsulation, "vxlan0", node_name(client))
                        .with_detail("network ingress"),
                ),
            ],
        }
    }
}
