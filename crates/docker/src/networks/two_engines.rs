//! Networks between two engines: servers on one machine, clients on another, each reached by its own API.

use super::address::docker_subnets;
use super::layout::{NetworkEndpoint, NetworkLayout, PathStep, container_specs, direct_routes};
use super::machine::{MachineSnapshot, address_for_clients};
use crate::engine_resources::{AttachTo, EngineResources};
use std::net::IpAddr;
use tare_network::{Error, HopKind, NetworkParameters, Shape, UnmetRequirement};

/// Names of the clients' machine and of the servers' machine in hops.
pub(super) const CLIENTS_NODE: &str = "node-0";
pub(super) const SERVERS_NODE: &str = "node-1";

/// Returns the reason why a network cannot span two engines.
pub(super) fn two_engines_unsupported(name: &str) -> UnmetRequirement {
    UnmetRequirement {
        reason: format!("{name} is a network of one engine, but two contexts are given"),
        remedy: "use docker:host, docker:published, docker:macvlan, docker:overlay-kv, or a network of a Swarm"
            .to_owned(),
    }
}

/// Returns the address of an engine's machine, as a container in its own network namespace sees it.
pub(super) fn machine_address(work: &EngineResources, shape: &Shape) -> Result<IpAddr, Error> {
    let MachineSnapshot { snapshot: seen, .. } = MachineSnapshot::take(work)?;
    address_for_clients(&seen, &docker_subnets(work)?, shape.family)
}

/// Starts clients on their machine's own network.
pub(super) fn clients_on_host(
    work: &EngineResources,
    shape: &Shape,
) -> Result<Vec<NetworkEndpoint>, Error> {
    let address = machine_address(work, shape)?;
    let started =
        work.start_containers(&container_specs("client", shape.clients, &AttachTo::Host))?;
    Ok(started.into_iter().map(|container| NetworkEndpoint { container, address }).collect())
}

/// Lays out `docker:host` between two engines: both ends are on their machines' own networks.
pub(super) fn lay_out_host(
    servers: &EngineResources,
    clients: &EngineResources,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<NetworkLayout, Error> {
    if shape.servers > 1 {
        let why = "all servers on one machine would listen on the same ports";
        return Err(Error::new("lay out docker:host", why).with_remedy("use --servers 1"));
    }
    let address = machine_address(servers, shape)?;
    let started =
        servers.start_containers(&container_specs("server", shape.servers, &AttachTo::Host))?;
    let on_server: Vec<NetworkEndpoint> =
        started.into_iter().map(|container| NetworkEndpoint { container, address }).collect();
    Ok(NetworkLayout {
        routes: direct_routes(shape, site, &on_server),
        servers: on_server,
        clients: clients_on_host(clients, shape)?,
        path: vec![
            PathStep::ClientAddressDevice(HopKind::Device),
            PathStep::ServerAddressDevice(HopKind::Device),
        ],
    })
}
