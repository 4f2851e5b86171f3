//! Network `swarm:gwbridge`: the path out of an overlay (north–south) by the bridge docker_gwbridge and masquerading.

use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, node_name};
use crate::deployment::{GWBRIDGE, SwarmDeployment};
use crate::task_request::{TaskAttachment, TaskRequest};
use tare_docker::networks::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, container_names, direct_routes,
};
use tare_docker::networks::overlay::{VXLAN_OVERHEAD, overlay_command};
use tare_network::{Error, Family, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct GwbridgeNetwork;

impl SwarmNetworkDefinition for GwbridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:gwbridge",
            summary: "a task on an overlay as client, by docker_gwbridge, to servers on their nodes' own networks",
            stands_for: "the path of every task of a Docker service to the outside of its overlays",
            source: "https://docs.docker.com/engine/swarm/networking/#customize-the-docker_gwbridge-interface",
            options: OPTIONS,
        }
    }

    fn check_capacity(&self, shape: &Shape) -> Result<(), Error> {
        if shape.family == Family::Ipv6 {
            return Err(Error::new("lay out swarm:gwbridge", "docker_gwbridge has no IPv6")
                .with_remedy("use --family ipv4"));
        }
        super::host::check_own_ports("swarm:gwbridge", shape)
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
        let clients = clients.map(|(n, name)| {
            TaskRequest::new(name, nodes.client_node(n), TaskAttachment::TunnelOnly)
        });
        let mut started =
            crew.start_tasks(&servers.chain(clients).collect::<Vec<_>>())?.into_iter();
        let servers: Vec<NetworkEndpoint> = started
            .by_ref()
            .take(shape.servers as usize)
            .enumerate()
            .map(|(n, container)| NetworkEndpoint {
                container,
                address: nodes.server_node(n).address,
            })
            .collect();
        let clients: Vec<NetworkEndpoint> =
            started.map(gwbridge_endpoint).collect::<Result<_, _>>()?;
        let (client, server) = (nodes.client_index(0), nodes.server_index(0));
        let path = vec![
            PathStep::ClientAddressDevice(HopKind::Veth),
            PathStep::Node(
                Hop::new(HopKind::Bridge, GWBRIDGE, node_name(client)).with_detail("driver bridge"),
            ),
            PathStep::Node(
                Hop::new(HopKind::Nat, "nat/POSTROUTING", node_name(client))
                    .with_detail("MASQUERADE"),
            ),
        ];
        let last = if client == server {
            PathStep::ServerDevice(HopKind::Loopback, "lo")
        } else {
            PathStep::ServerAddressDevice(HopKind::Device)
        };
        let path = path.into_iter().chain([last]).collect();
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![super::script::image_line()];
        lines.push(overlay_command(shape, VXLAN_OVERHEAD, ""));
        lines.extend(super::script::service_lines(shape, "--network host", "--network tare"));
        lines
    }
}

/// Builds the endpoint of a client, with the address that docker_gwbridge gave it.
fn gwbridge_endpoint(
    container: tare_docker::container_handle::ContainerHandle,
) -> Result<NetworkEndpoint, Error> {
    let address = container.addresses(GWBRIDGE).first().copied();
    let address = address.ok_or_else(|| {
        let what = format!("find the address of {} on {GWBRIDGE}", container.name);
        Error::new(what, "Docker assigned no address, as on an internal network")
    })?;
    Ok(NetworkEndpoint { container, address })
}
