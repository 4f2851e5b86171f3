//! Network `swarm:overlay`: tasks of services on an overlay network, reached by their own addresses.

use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, node_name};
use crate::deployment::SwarmDeployment;
use crate::task_request::{TaskAttachment, TaskRequest};
use tare_docker::networks::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, container_names, direct_routes, endpoint_on_network,
};
use tare_docker::networks::overlay::{VXLAN_OVERHEAD, overlay_command, overlay_request};
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct SwarmOverlayNetwork;

impl SwarmNetworkDefinition for SwarmOverlayNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:overlay",
            summary: "tasks of Docker services on an overlay network, addressed by DNS round robin",
            stands_for: "docker network create --driver overlay; docker service create --endpoint-mode dnsrr",
            source: "https://docs.docker.com/engine/network/drivers/overlay/",
            options: OPTIONS,
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
        let (servers, clients) = start_both(crew, nodes, &network, shape)?;
        Ok(NetworkLayout {
            routes: direct_routes(shape, site, &servers),
            servers,
            clients,
            path: overlay_path(nodes, 0, 0),
        })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![super::script::image_line()];
        lines.push(overlay_command(shape, VXLAN_OVERHEAD, ""));
        lines.extend(super::script::uniform_lines(shape, "--network tare --endpoint-mode dnsrr"));
        lines
    }
}

/// Starts servers and clients on one network.
pub(super) fn start_both(
    crew: &SwarmDeployment,
    nodes: &TaskPlacement<'_>,
    network: &str,
    shape: &Shape,
) -> Result<(Vec<NetworkEndpoint>, Vec<NetworkEndpoint>), Error> {
    let on = TaskAttachment::Network(network.to_owned());
    let servers = container_names("server", shape.servers).enumerate();
    let servers = servers.map(|(n, name)| TaskRequest::new(name, nodes.server_node(n), on.clone()));
    let clients = container_names("client", shape.clients).enumerate();
    let clients = clients.map(|(n, name)| TaskRequest::new(name, nodes.client_node(n), on.clone()));
    let started = crew.start_tasks(&servers.chain(clients).collect::<Vec<_>>())?;
    let mut endpoints = started.into_iter().map(|one| endpoint_on_network(one, network, shape));
    let servers = endpoints.by_ref().take(shape.servers as usize).collect::<Result<_, _>>()?;
    Ok((servers, endpoints.collect::<Result<_, _>>()?))
}

/// Returns the path between two tasks on an overlay: a bridge on each node, in a network namespace of the overlay's
/// own, and VXLAN between them.
pub(super) fn overlay_path(
    nodes: &TaskPlacement<'_>,
    client: usize,
    server: usize,
) -> Vec<PathStep> {
    let bridge = |node| {
        PathStep::Node(
            Hop::new(HopKind::Bridge, "br0", node_name(node)).with_detail("driver overlay"),
        )
    };
    let (client, server) = (nodes.client_index(client), nodes.server_index(server));
    let mut path = vec![PathStep::ClientAddressDevice(HopKind::Veth), bridge(client)];
    if client != server {
        let [from, to] = [client, server].map(|node| &nodes.nodes[node].name);
        path.push(PathStep::Node(
            Hop::new(HopKind::Encapsulation, "vxlan0", node_name(client))
                .with_detail(format!("VXLAN, UDP 4789, from {from} to {to}")),
        ));
        path.push(bridge(server));
    }
    path.push(PathStep::ServerAddressDevice(HopKind::Veth));
    path
}
