//! Networks between two engines: servers on one machine, clients on another, each reached by its own API.

use super::bridge::{DEFAULT_NETWORK, DEVICE, bridge_device};
use super::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, build_routes, container_names, container_specs,
    direct_routes, endpoint_on_network, start_endpoints,
};
use super::machine::{MachineSnapshot, address_for_clients};
use super::macvlan::{ParentDeviceNetwork, parent_device, request_on_parent};
use super::published::{docker_subnets, published_port};
use super::ranges::EngineRanges;
use crate::engine_resources::{
    AttachTo, ContainerSpec, EngineResources, PublishedContainerPort as Port,
};
use std::net::{IpAddr, SocketAddr};
use tare_network::{Error, Hop, HopKind, NetworkParameters, Shape, UnmetRequirement};

/// Names of the clients' machine and of the servers' machine in hops.
pub(super) const CLIENTS_NODE: &str = "node-0";
pub(super) const SERVERS_NODE: &str = "node-1";

/// Returns the reason why a network cannot span two engines.
pub(super) fn two_engines_unsupported(name: &str) -> UnmetRequirement {
    UnmetRequirement {
        reason: format!("{name} is a network of one engine, and two contexts are named"),
        remedy: "use docker:host, docker:published, docker:macvlan, docker:overlay-kv, or a network of a Swarm"
            .to_owned(),
    }
}

/// Returns the address of an engine's machine, as a container in its own network namespace sees it.
fn machine_address(work: &EngineResources, shape: &Shape) -> Result<IpAddr, Error> {
    let MachineSnapshot { snapshot: seen, .. } = MachineSnapshot::take(work)?;
    address_for_clients(&seen, &docker_subnets(work)?, shape.family)
}

/// Starts clients on their machine's own network.
fn clients_on_host(work: &EngineResources, shape: &Shape) -> Result<Vec<NetworkEndpoint>, Error> {
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
        let why = "all servers of one machine would listen on the same ports";
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

/// Lays out `docker:published` between two engines: servers are on the default bridge, their ports published on their
/// machine.
pub(super) fn lay_out_published(
    servers: &EngineResources,
    clients: &EngineResources,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<NetworkLayout, Error> {
    let address = machine_address(servers, shape)?;
    let on = AttachTo::Network(DEFAULT_NETWORK.to_owned());
    let spec = |(server, name): (usize, String)| {
        let port = |&port: &u16| Port {
            port,
            host_address: address,
            host_port: published_port(server, port, &site.ports),
        };
        ContainerSpec {
            published: site.ports.iter().map(port).collect(),
            ..ContainerSpec::new(name, on.clone())
        }
    };
    let wanted: Vec<ContainerSpec> =
        container_names("server", shape.servers).enumerate().map(spec).collect();
    let on_bridge = start_endpoints(servers, &wanted, DEFAULT_NETWORK, shape)?;
    let bridge = bridge_device(servers, DEFAULT_NETWORK)?;
    let port = site.ports.first().copied().unwrap_or_default();
    Ok(NetworkLayout {
        routes: build_routes(shape, site, |server, port| {
            let listen = SocketAddr::new(on_bridge[server].address, port);
            (listen, SocketAddr::new(address, published_port(server, port, &site.ports)))
        }),
        servers: on_bridge,
        clients: clients_on_host(clients, shape)?,
        path: vec![
            PathStep::ClientAddressDevice(HopKind::Device),
            // Connections from another machine take the DNAT rule, with or without the userland proxy.
            PathStep::Node(
                Hop::new(HopKind::Nat, "nat/DOCKER", SERVERS_NODE)
                    .with_detail(format!("port {port}")),
            ),
            PathStep::Node(
                Hop::new(HopKind::Bridge, bridge, SERVERS_NODE).with_detail("driver bridge"),
            ),
            PathStep::ServerDevice(HopKind::Veth, DEVICE),
        ],
    })
}

/// Lays out `docker:macvlan` between two engines: one subnet on both uplinks, each engine with a range of it.
pub(super) fn lay_out_macvlan(
    servers: &EngineResources,
    clients: &EngineResources,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<NetworkLayout, Error> {
    let ranges = EngineRanges::random();
    let started = |work: &EngineResources,
                   index,
                   role,
                   count|
     -> Result<(Vec<NetworkEndpoint>, String), Error> {
        let parent = parent_device(work, &MachineSnapshot::take(work)?.snapshot)?;
        let mut asked = request_on_parent(ParentDeviceNetwork::Macvlan, &parent, shape);
        asked.ipam = Some(ranges.ipam_for_engine(index));
        let network = work.create_network(asked)?;
        let on = AttachTo::Network(network.clone());
        let started = work.start_containers(&container_specs(role, count, &on))?;
        let endpoints = started.into_iter().map(|one| endpoint_on_network(one, &network, shape));
        Ok((endpoints.collect::<Result<_, _>>()?, parent))
    };
    let (on_clients, parent) = started(clients, 0, "client", shape.clients)?;
    let (on_servers, _) = started(servers, 1, "server", shape.servers)?;
    let below =
        Hop::new(HopKind::Device, parent, CLIENTS_NODE).with_detail("driver macvlan, bridge");
    Ok(NetworkLayout {
        routes: direct_routes(shape, site, &on_servers),
        servers: on_servers,
        clients: on_clients,
        path: vec![
            PathStep::ClientAddressDevice(HopKind::Device),
            PathStep::Node(below),
            PathStep::ServerAddressDevice(HopKind::Device),
        ],
    })
}
