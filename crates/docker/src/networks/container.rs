//! Network `docker:container`: clients in their server's network namespace.

use super::bridge::DEFAULT_NETWORK;
use super::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, container_names, direct_routes, server_of,
    start_servers,
};
use super::{DockerNetworkDefinition, OPTIONS, script};
use crate::engine_resources::{AttachTo, ContainerSpec, EngineResources};
use tare_network::{Error, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct ContainerModeNetwork;

impl DockerNetworkDefinition for ContainerModeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:container",
            summary: "a Docker container in the network namespace of another, over its loopback device",
            stands_for: "docker run --network container:NAME",
            source: "https://docs.docker.com/engine/network/#container-networks",
            options: OPTIONS,
        }
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let servers = start_servers(work, DEFAULT_NETWORK, shape)?;
        let specs: Vec<ContainerSpec> = container_names("client", shape.clients)
            .enumerate()
            .map(|(client, name)| {
                let server = &servers[server_of(client, shape)].container;
                ContainerSpec::new(name, AttachTo::Container(server.id.clone()))
            })
            .collect();
        let started = work.start_containers(&specs)?;
        let clients = started.into_iter().enumerate().map(|(client, container)| NetworkEndpoint {
            container,
            address: servers[server_of(client, shape)].address,
        });
        Ok(NetworkLayout {
            clients: clients.collect(),
            routes: direct_routes(shape, site, &servers),
            servers,
            path: vec![PathStep::ClientDevice(HopKind::Loopback, "lo")],
        })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = script::first_lines();
        lines.extend(
            container_names("server", shape.servers).map(|name| script::run_line(&name, "")),
        );
        lines.extend(container_names("client", shape.clients).enumerate().map(|(client, name)| {
            script::run_line(
                &name,
                &format!("--network container:server-{}", server_of(client, shape)),
            )
        }));
        lines
    }
}
