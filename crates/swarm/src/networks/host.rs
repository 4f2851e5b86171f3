//! Network `swarm:host`: tasks of services on their nodes' own networks.

use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement};
use crate::deployment::SwarmDeployment;
use crate::task_request::{TaskAttachment, TaskRequest};
use tare_docker::networks::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, container_names, direct_routes,
};
use tare_network::{Error, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct SwarmHostNetwork;

impl SwarmNetworkDefinition for SwarmHostNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:host",
            summary: "tasks of Docker services on their nodes' own networks",
            stands_for: "docker service create --network host",
            source: "https://docs.docker.com/engine/network/drivers/host/",
            options: OPTIONS,
        }
    }

    fn check_capacity(&self, shape: &Shape) -> Result<(), Error> {
        check_own_ports("swarm:host", shape)
    }

    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let servers = container_names("server", shape.servers).enumerate();
        let servers = servers
            .map(|(n, name)| TaskRequest::new(name, nodes.server_node(n), TaskAttachment::Host));
        let clients = container_names("client", shape.clients).enumerate();
        let clients = clients
            .map(|(n, name)| TaskRequest::new(name, nodes.client_node(n), TaskAttachment::Host));
        let started = crew.start_tasks(&servers.chain(clients).collect::<Vec<_>>())?;
        let mut started = started.into_iter();
        let servers: Vec<NetworkEndpoint> = started
            .by_ref()
            .take(shape.servers as usize)
            .enumerate()
            .map(|(n, container)| NetworkEndpoint {
                container,
                address: nodes.server_node(n).address,
            })
            .collect();
        let clients = started
            .enumerate()
            .map(|(n, container)| NetworkEndpoint {
                container,
                address: nodes.client_node(n).address,
            })
            .collect();
        let path = if nodes.is_single_node() {
            vec![PathStep::ClientDevice(HopKind::Loopback, "lo")]
        } else {
            vec![
                PathStep::ClientAddressDevice(HopKind::Device),
                PathStep::ServerAddressDevice(HopKind::Device),
            ]
        };
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![super::script::image_line()];
        lines.extend(super::script::uniform_lines(shape, "--network host"));
        lines
    }
}

/// Checks that there is a node for each server: servers on one network namespace would share their ports.
pub(super) fn check_own_ports(name: &str, shape: &Shape) -> Result<(), Error> {
    let with_servers = (shape.nodes / 2).max(1);
    if shape.servers <= with_servers {
        return Ok(());
    }
    let why = format!(
        "of {} nodes, {with_servers} run servers, and each of these has room for one server: servers on one node share their ports",
        shape.nodes
    );
    Err(Error::new(format!("lay out {name} with {} servers", shape.servers), why)
        .with_remedy(format!("use --servers {with_servers}, or more --nodes")))
}
