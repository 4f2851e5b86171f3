//! Network `docker:published`: a client on the engine's machine, and a server behind a port that is published there.

use super::address::docker_subnets;
use super::bridge::{DEFAULT_NETWORK, DEVICE, bridge_device};
use super::layout::{
    NetworkEndpoint, NetworkLayout, PathStep, PortForwarder, build_routes, container_names,
    container_specs, start_endpoints,
};
use super::machine::{MachineSnapshot, address_for_clients, bridge_hop};
use super::two_engines::{SERVERS_NODE, clients_on_host, machine_address};
use super::{DockerNetworkDefinition, PUBLISHED_OPTIONS, script};
use crate::container_handle::ContainerHandle;
use crate::engine_resources::{
    AttachTo, ContainerSpec, EngineResources, PublishedContainerPort as Port,
};
use crate::place::EnginePlace;
use std::net::{IpAddr, SocketAddr};
use tare_network::{ClientRoute, Error, Hop, HopKind, NetworkInfo, NetworkParameters, Shape};

pub(super) struct DockerPublishedNetwork;

impl DockerNetworkDefinition for DockerPublishedNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:published",
            summary: "a client on the host, a Docker container on the default bridge behind a published port",
            stands_for: "docker run --publish ADDRESS:PORT:PORT, dialled by the host's own address",
            source: "https://docs.docker.com/engine/network/port-publishing/",
            options: PUBLISHED_OPTIONS,
        }
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let clients = PublishedClients::start(work, shape)?;
        let on = AttachTo::Network(DEFAULT_NETWORK.to_owned());
        let specs = clients.server_specs(shape, site, &on);
        let servers = start_endpoints(work, &specs, DEFAULT_NETWORK, shape)?;
        let client = &clients.endpoints[0].container;
        Ok(NetworkLayout {
            routes: clients.routes(shape, site, &servers),
            path: published_path(work, client, site.ports.first())?,
            servers,
            clients: clients.endpoints,
        })
    }

    fn copies_in_user_space(&self, place: &EnginePlace) -> bool {
        place.is_rootless_podman()
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
        lay_out_between_engines(servers, clients, shape, site)
    }

    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        let mut lines = script::first_lines();
        lines.push("ADDRESS=$(hostname -I | cut -d ' ' -f 1)".to_owned());
        lines.extend(
            container_names("server", shape.servers)
                .enumerate()
                .map(|(server, name)| script::run_line(&name, &published_flags(server, site))),
        );
        lines.extend(
            container_names("client", shape.clients)
                .map(|name| script::run_line(&name, "--network host")),
        );
        lines
    }
}

/// Clients on the engine's machine, and the address of the machine that they dial.
pub(super) struct PublishedClients {
    pub(super) endpoints: Vec<NetworkEndpoint>,
    address: IpAddr,
}

impl PublishedClients {
    /// Starts the clients of a shape.
    pub(super) fn start(work: &EngineResources, shape: &Shape) -> Result<Self, Error> {
        let started =
            work.start_containers(&container_specs("client", shape.clients, &AttachTo::Host))?;
        let seen = MachineSnapshot::snapshot_container(work, &started[0])?;
        let address = address_for_clients(&seen, &docker_subnets(work)?, shape.family)?;
        let endpoint = |container| NetworkEndpoint { container, address };
        Ok(Self { endpoints: started.into_iter().map(endpoint).collect(), address })
    }

    /// Describes the servers, attached alike, with the ports that each publishes.
    pub(super) fn server_specs(
        &self,
        shape: &Shape,
        site: &NetworkParameters,
        on: &AttachTo,
    ) -> Vec<ContainerSpec> {
        let spec = |(server, name)| ContainerSpec {
            published: self.ports_of(server, site),
            ..ContainerSpec::new(name, on.clone())
        };
        container_names("server", shape.servers).enumerate().map(spec).collect()
    }

    /// Returns the ports that a server publishes.
    fn ports_of(&self, server: usize, site: &NetworkParameters) -> Vec<Port> {
        ports_on(self.address, server, site)
    }

    /// Returns the routes of the clients to the published ports.
    pub(super) fn routes(
        &self,
        shape: &Shape,
        site: &NetworkParameters,
        servers: &[NetworkEndpoint],
    ) -> Vec<ClientRoute> {
        build_routes(shape, site, |server, port| {
            let outside = published_port(server, port, &site.ports);
            let listen = SocketAddr::new(servers[server].address, port);
            (listen, SocketAddr::new(self.address, outside))
        })
    }
}

/// Returns the ports that a server publishes on an address: those of the workloads, then further ones, whose ports on the
/// machine the engine picks.
fn ports_on(host_address: IpAddr, server: usize, site: &NetworkParameters) -> Vec<Port> {
    let published = |&port: &u16| Port {
        port,
        host_address,
        host_port: published_port(server, port, &site.ports),
    };
    let further = site.further_ports().map(|port| Port { port, host_address, host_port: 0 });
    site.ports.iter().map(published).chain(further).collect()
}

/// Returns the flags that publish the ports of a server, for the shown commands.
pub(super) fn published_flags(server: usize, site: &NetworkParameters) -> String {
    let publish = |outside: &str, port: u16| {
        ["tcp", "udp"].map(|by| format!("--publish \"$ADDRESS\":{outside}:{port}/{by}")).join(" ")
    };
    let of_workload =
        |&port: &u16| publish(&published_port(server, port, &site.ports).to_string(), port);
    let further = site.further_ports().map(|port| publish("", port));
    site.ports.iter().map(of_workload).chain(further).collect::<Vec<_>>().join(" ")
}

/// Returns the published port of a server's port. The first server's ports keep their numbers; those of other servers
/// follow after the largest port, one block of ports for each server.
pub fn published_port(server: usize, port: u16, ports: &[u16]) -> u16 {
    let Some(row) = server.checked_sub(1) else { return port };
    let largest = ports.iter().copied().max().unwrap_or_default();
    let place = ports.iter().position(|&one| one == port).unwrap_or_default();
    let after = u16::try_from(row * ports.len() + place).unwrap_or(u16::MAX);
    largest.saturating_add(1).saturating_add(after)
}

/// Returns the path from a client on the engine's machine, once the servers are on the bridge.
fn published_path(
    work: &EngineResources,
    client: &ContainerHandle,
    port: Option<&u16>,
) -> Result<Vec<PathStep>, Error> {
    if work.podman().is_some_and(|podman| podman.rootless) {
        // Podman's program connects to the container's own address from within its network namespace.
        let forwarder = port.map(|&port| port_forwarder(work, port));
        let loopback = PathStep::ServerDevice(HopKind::Loopback, "lo");
        return Ok(forwarder.into_iter().chain([loopback]).collect());
    }
    let seen = &MachineSnapshot::snapshot_container(work, client)?;
    let bridge = bridge_device(work, DEFAULT_NETWORK, seen)?;
    let mut path = Vec::new();
    path.extend(port.map(|&port| port_forwarder(work, port)));
    path.push(PathStep::Node(bridge_hop(seen, &bridge)));
    path.push(PathStep::ServerDevice(HopKind::Veth, DEVICE));
    Ok(path)
}

/// Returns the step through the engine's forwarder of a published port.
fn port_forwarder(work: &EngineResources, port: u16) -> PathStep {
    PathStep::PortForwarder(PortForwarder {
        rules: work.port_rules(),
        proxy: work.product().port_proxy(),
        port,
    })
}

/// Lays out `docker:published` between two engines: servers are on the default bridge, their ports published on their
/// machine.
fn lay_out_between_engines(
    servers: &EngineResources,
    clients: &EngineResources,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<NetworkLayout, Error> {
    let address = machine_address(servers, shape)?;
    let on = AttachTo::Network(DEFAULT_NETWORK.to_owned());
    let spec = |(server, name): (usize, String)| ContainerSpec {
        published: ports_on(address, server, site),
        ..ContainerSpec::new(name, on.clone())
    };
    let wanted: Vec<ContainerSpec> =
        container_names("server", shape.servers).enumerate().map(spec).collect();
    let on_bridge = start_endpoints(servers, &wanted, DEFAULT_NETWORK, shape)?;
    let seen = MachineSnapshot::take(servers)?.snapshot;
    let bridge = bridge_device(servers, DEFAULT_NETWORK, &seen)?;
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
                Hop::new(HopKind::Nat, servers.port_rules(), SERVERS_NODE)
                    .with_detail(format!("port {port}")),
            ),
            PathStep::Node(
                Hop::new(HopKind::Bridge, bridge, SERVERS_NODE).with_detail("driver bridge"),
            ),
            PathStep::ServerDevice(HopKind::Veth, DEVICE),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_servers_are_published_at_one_port() {
        let ports = [20_000, 20_007, 31_999];
        let mut seen = BTreeSet::new();
        for server in 0..40 {
            for port in ports {
                assert!(seen.insert(published_port(server, port, &ports)), "{server}: {port}");
            }
        }
        assert_eq!(published_port(0, 20_007, &ports), 20_007);
    }
}
