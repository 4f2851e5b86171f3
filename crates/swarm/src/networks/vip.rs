//! Network `swarm:vip`: tasks of services on an overlay network, reached by the virtual address of the server's
//! service.

use super::overlay::overlay_path;
use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, node_name, script};
use crate::deployment::SwarmDeployment;
use crate::task_request::{EndpointMode as By, TaskAttachment, TaskRequest};
use std::net::{IpAddr, SocketAddr};
use tare_docker::networks::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, build_routes, container_names, endpoint_on_network,
};
use tare_docker::networks::overlay::{VXLAN_OVERHEAD, overlay_command, overlay_request};
use tare_docker::requirement::EngineRequirement;
use tare_network::{Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct SwarmVipNetwork;

impl SwarmNetworkDefinition for SwarmVipNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:vip",
            summary: "tasks of Docker services on an overlay network, by the service's virtual address",
            stands_for: "docker service create --network NAME, reached by the service's name",
            source: "https://docs.docker.com/engine/swarm/networking/#configure-service-discovery",
            options: OPTIONS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<EngineRequirement> {
        vec![EngineRequirement::Kernel("ip_vs")]
    }

    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let network = crew.create_network(overlay_request(shape, VXLAN_OVERHEAD))?;
        let on = TaskAttachment::Network(network.clone());
        let servers =
            container_names("server", shape.servers).enumerate().map(|(n, name)| TaskRequest {
                endpoint: By::Vip,
                ..TaskRequest::new(name, nodes.server_node(n), on.clone())
            });
        let clients = container_names("client", shape.clients).enumerate();
        let clients =
            clients.map(|(n, name)| TaskRequest::new(name, nodes.client_node(n), on.clone()));
        let started = crew.start_tasks(&servers.chain(clients).collect::<Vec<_>>())?;
        let mut all = started.into_iter().map(|one| endpoint_on_network(one, &network, shape));
        let servers: Vec<NetworkEndpoint> =
            all.by_ref().take(shape.servers as usize).collect::<Result<_, _>>()?;
        let clients = all.collect::<Result<_, _>>()?;
        let virtual_ones = (0..shape.servers as usize)
            .map(|server| crew.virtual_address(server, &network))
            .collect::<Result<Vec<IpAddr>, Error>>()?;
        let mut path = overlay_path(nodes, 0, 0);
        let balancer = Hop::new(HopKind::Nat, "ip_vs", node_name(nodes.client_index(0)));
        path.insert(1, PathStep::Node(balancer.with_detail(format!("{}", virtual_ones[0]))));
        Ok(NetworkLayout {
            routes: build_routes(shape, site, |server, port| {
                let listen = SocketAddr::new(servers[server].address, port);
                (listen, SocketAddr::new(virtual_ones[server], port))
            }),
            servers,
            clients,
            path,
        })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![script::image_line(), overlay_command(shape, VXLAN_OVERHEAD, "")];
        lines.extend(script::uniform_lines(shape, "--network tare --endpoint-mode vip"));
        lines
    }
}
