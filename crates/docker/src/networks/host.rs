//! Network `docker:host`: both ends in the engine's own network namespace, over its loopback device.

use super::layout::{NetworkEndpoint, NetworkLayout, PathStep, container_specs, direct_routes};
use super::{DockerNetworkDefinition, OPTIONS, script, two_engines};
use crate::engine_resources::{AttachTo, EngineResources};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::{Error, Family, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct DockerHostNetwork;

impl DockerNetworkDefinition for DockerHostNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:host",
            summary: "both ends in Docker containers on the host's own network, over its loopback device",
            stands_for: "docker run --network host",
            source: "https://docs.docker.com/engine/network/drivers/host/",
            options: OPTIONS,
        }
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let addresses = loopback_addresses(shape)?;
        let endpoints = |role, count| -> Result<Vec<NetworkEndpoint>, Error> {
            let started = work.start_containers(&container_specs(role, count, &AttachTo::Host))?;
            let address = |index: usize| addresses[index % addresses.len()];
            let endpoint =
                |(index, container)| NetworkEndpoint { container, address: address(index) };
            Ok(started.into_iter().enumerate().map(endpoint).collect())
        };
        let servers = endpoints("server", shape.servers)?;
        let clients = endpoints("client", shape.clients)?;
        Ok(NetworkLayout {
            routes: direct_routes(shape, site, &servers),
            servers,
            clients,
            path: vec![PathStep::ClientDevice(HopKind::Loopback, "lo")],
        })
    }

    fn supports_two_engines(&self) -> bool {
        true
    }

    fn lay_out_apart(
        &self,
        servers: &EngineResources,
        clients: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        two_engines::lay_out_host(servers, clients, shape, site)
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        script::all_lines(shape, "--network host")
    }
}

/// Returns a loopback address for each server: 127.0.0.1, 127.0.0.2 and so on. Fails for several servers over IPv6,
/// which has only one loopback address.
pub(super) fn loopback_addresses(shape: &Shape) -> Result<Vec<IpAddr>, Error> {
    match shape.family {
        Family::Ipv4 => {
            let first = u32::from(Ipv4Addr::LOCALHOST);
            Ok((0..shape.servers).map(|index| Ipv4Addr::from(first + index).into()).collect())
        }
        Family::Ipv6 if shape.servers > 1 => {
            let why =
                "a machine has one IPv6 loopback address, but every server needs its own address";
            Err(Error::new("lay out docker:host", why).with_remedy("use --servers 1"))
        }
        Family::Ipv6 => Ok(vec![Ipv6Addr::LOCALHOST.into()]),
    }
}
