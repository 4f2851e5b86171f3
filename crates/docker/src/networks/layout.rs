//! Layout of a network on an engine: its containers, the addresses to which clients connect, and the path of a packet.

use crate::container_handle::ContainerHandle;
use crate::engine_resources::{AttachTo, ContainerSpec, EngineResources};
use crate::requirement::UserModeStack;
use std::net::{IpAddr, SocketAddr};
use tare_network::{ClientRoute, Error, Family, Hop, HopKind, NetworkParameters, Shape};

/// Server or client of a network.
#[derive(Clone, Debug)]
pub struct NetworkEndpoint {
    /// Container of the server or client.
    pub container: ContainerHandle,
    /// Address of the container itself.
    pub address: IpAddr,
}

/// Step on the path of a packet.
#[derive(Clone, Debug)]
pub enum PathStep {
    /// A device in the network namespace of client 0.
    ClientDevice(HopKind, &'static str),
    /// A device in the network namespace of server 0.
    ServerDevice(HopKind, &'static str),
    /// The device of client 0 that has its address.
    ClientAddressDevice(HopKind),
    /// The device of server 0 that has its address.
    ServerAddressDevice(HopKind),
    /// A hop on the engine's machine.
    Node(Hop),
    /// The engine's forwarder of a published port: a rule or a proxy, as the connection shows.
    PortForwarder(PortForwarder),
    /// The stack in user space that forwards a published port, and the port.
    StackForwarder(UserModeStack, u16),
}

/// Forwarder of a published port.
#[derive(Clone, Copy, Debug)]
pub struct PortForwarder {
    /// Name of the rules that translate it, as a hop.
    pub rules: &'static str,
    /// Name of the program that forwards it if no rule does.
    pub proxy: &'static str,
    /// Published port.
    pub port: u16,
}

/// Layout of a network.
#[derive(Clone, Debug)]
pub struct NetworkLayout {
    /// Servers, by number.
    pub servers: Vec<NetworkEndpoint>,
    /// Clients, by number.
    pub clients: Vec<NetworkEndpoint>,
    /// Route of each client to its server.
    pub routes: Vec<ClientRoute>,
    /// Path of a packet from client 0 to server 0.
    pub path: Vec<PathStep>,
}

/// Name of the engine's machine in hops.
pub const NODE: &str = "node-0";

/// MTU of nearly every device, and of a shape for which the user requests no other, bytes.
pub const DEFAULT_MTU: u32 = 1500;

/// Refuses shapes that no network on one engine supports.
pub(crate) fn check_shape(name: &str, shape: &Shape) -> Result<(), Error> {
    let what = || format!("lay out {name}");
    if shape.nodes > 1 {
        return Err(Error::new(what(), "one Docker Engine provides only one node")
            .with_remedy("use --nodes 1, or a network of a Swarm"));
    }
    if shape.servers == 0 || shape.clients == 0 {
        return Err(Error::new(what(), "the network needs at least one server and one client")
            .with_remedy("use --servers 1 --clients 1, or more"));
    }
    Ok(())
}

/// Returns the server of a client: client i connects to server i mod n.
pub(crate) fn server_of(client: usize, shape: &Shape) -> usize {
    client % (shape.servers.max(1) as usize)
}

/// Returns routes on which each client connects to its server's own address.
pub fn direct_routes(
    shape: &Shape,
    site: &NetworkParameters,
    servers: &[NetworkEndpoint],
) -> Vec<ClientRoute> {
    build_routes(shape, site, |server, port| {
        let address = SocketAddr::new(servers[server].address, port);
        (address, address)
    })
}

/// Returns routes from two addresses of a server and port: the address on which the server listens, and the address to
/// which clients connect.
pub fn build_routes(
    shape: &Shape,
    site: &NetworkParameters,
    addresses: impl Fn(usize, u16) -> (SocketAddr, SocketAddr),
) -> Vec<ClientRoute> {
    (0..shape.clients as usize)
        .flat_map(|client| site.ports.iter().map(move |&port| (client, port)))
        .map(|(client, port)| {
            let server = server_of(client, shape);
            let (listen, dial) = addresses(server, port);
            ClientRoute { client, server, listen, dial }
        })
        .collect()
}

/// Returns the names of all servers or all clients.
pub fn container_names(role: &'static str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |index| format!("{role}-{index}"))
}

/// Describes all servers or all clients, all attached alike.
pub(crate) fn container_specs(role: &'static str, count: u32, on: &AttachTo) -> Vec<ContainerSpec> {
    container_names(role, count).map(|name| ContainerSpec::new(name, on.clone())).collect()
}

/// Returns whether an address belongs to an address family.
pub(crate) fn is_in_family(address: &IpAddr, family: Family) -> bool {
    address.is_ipv4() == (family == Family::Ipv4)
}

/// Finds the container's address on a network, in the shape's address family.
///
/// # Errors
/// The container has no address of the family on the network.
pub fn endpoint_on_network(
    container: ContainerHandle,
    network: &str,
    shape: &Shape,
) -> Result<NetworkEndpoint, Error> {
    let family = shape.family;
    let address = container.addresses(network).into_iter().find(|one| is_in_family(one, family));
    let address = address.ok_or_else(|| {
        let what = format!("find the address of {} on the network {network}", container.name);
        let error = Error::new(what, format!("Docker assigned no {family} address"));
        match family {
            Family::Ipv4 => error,
            Family::Ipv6 => error.with_remedy(
                "use docker:user-bridge, which creates a network with IPv6, or enable IPv6 on the \
                 existing network (--ipv6 when the network is created, `ipv6` in daemon.json)",
            ),
        }
    })?;
    Ok(NetworkEndpoint { container, address })
}

/// Starts servers and clients on one network.
pub(crate) fn start_both(
    work: &EngineResources,
    network: &str,
    shape: &Shape,
) -> Result<(Vec<NetworkEndpoint>, Vec<NetworkEndpoint>), Error> {
    let on = AttachTo::Network(network.to_owned());
    let servers = start_servers(work, network, shape)?;
    let clients =
        start_endpoints(work, &container_specs("client", shape.clients, &on), network, shape)?;
    Ok((servers, clients))
}

/// Starts the servers of a shape on a network.
pub(crate) fn start_servers(
    work: &EngineResources,
    network: &str,
    shape: &Shape,
) -> Result<Vec<NetworkEndpoint>, Error> {
    let on = AttachTo::Network(network.to_owned());
    start_endpoints(work, &container_specs("server", shape.servers, &on), network, shape)
}

/// Starts servers or clients on a network.
pub(crate) fn start_endpoints(
    work: &EngineResources,
    specs: &[ContainerSpec],
    network: &str,
    shape: &Shape,
) -> Result<Vec<NetworkEndpoint>, Error> {
    let started = work.start_containers(specs)?;
    started.into_iter().map(|container| endpoint_on_network(container, network, shape)).collect()
}
