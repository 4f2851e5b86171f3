//! Network `podman:pod`: servers and clients in one pod, over its loopback device.

use crate::engine_resources::{AttachTo, EngineResources};
use crate::image::PROGRAM;
use crate::networks::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, build_routes, container_specs, server_of,
};
use crate::networks::{DockerNetworkDefinition, PODMAN_OPTIONS, host, script};
use serde_json::json;
use std::net::SocketAddr;
use tare_network::{Error, HopKind, INTERNAL, NetworkInfo, NetworkParameters, Shape};

pub(super) struct PodNetwork;

impl DockerNetworkDefinition for PodNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "podman:pod",
            summary: "two Podman containers in one pod, over its loopback device",
            stands_for: "podman pod create, podman run --pod NAME",
            source: "https://docs.podman.io/en/latest/markdown/podman-pod-create.1.html",
            options: PODMAN_OPTIONS,
        }
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        // The pod's first container ends with the others. With tare's own image it is tare's, too: Podman builds one.
        let mut request = json!({"exit_policy": "stop"});
        if let Some(image) = work.own_image() {
            request["infra_image"] = image.into();
            request["infra_command"] = json!([PROGRAM, INTERNAL, "pause"]);
        }
        let pod = work.create_pod(request)?;
        let addresses = host::loopback_addresses(shape)?;
        let on = AttachTo::Pod(pod);
        let servers = work.start_containers(&container_specs("server", shape.servers, &on))?;
        let clients = work.start_containers(&container_specs("client", shape.clients, &on))?;
        let address = |server: usize| addresses[server % addresses.len()];
        let endpoint = |(index, container): (usize, _)| NetworkEndpoint {
            container,
            address: address(server_of(index, shape)),
        };
        Ok(NetworkLayout {
            servers: servers.into_iter().enumerate().map(endpoint).collect(),
            clients: clients.into_iter().enumerate().map(endpoint).collect(),
            routes: build_routes(shape, site, |server, port| {
                let address = SocketAddr::new(address(server), port);
                (address, address)
            }),
            path: vec![PathStep::ClientDevice(HopKind::Loopback, "lo")],
        })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let first =
            ["tare image | podman load", "podman pod create --name tare"].map(str::to_owned);
        let containers = script::container_lines(shape, "--pod tare");
        first.into_iter().chain(containers.iter().map(|line| super::as_podman(line))).collect()
    }
}
