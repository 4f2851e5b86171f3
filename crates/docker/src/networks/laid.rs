//! A network that is laid out on an engine: its containers, what the clients dial, and the path of a packet.

use crate::work::{On, Running, Spec, Work};
use std::net::{IpAddr, SocketAddr};
use tare_network::{Error, Family, Hop, HopKind, Route, Shape, Site};

/// A server or a client.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) container: Running,
    /// Its own address.
    pub(crate) address: IpAddr,
}

/// One thing on the path of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A device of client 0's network namespace.
    OfClient(HopKind, &'static str),
    /// A device of server 0's.
    OfServer(HopKind, &'static str),
    /// The device of client 0 that has its address.
    ClientOwn(HopKind),
    /// The device of server 0 that has its address.
    ServerOwn(HopKind),
    /// Something on the engine's machine.
    Node(Hop),
    /// What sends a published port's packets on: a rule or a proxy, whichever the connection shows.
    Publisher(String),
}

/// A network, laid out.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    pub(crate) servers: Vec<Endpoint>,
    pub(crate) clients: Vec<Endpoint>,
    pub(crate) routes: Vec<Route>,
    pub(crate) path: Vec<Step>,
}

/// What a step that is on the engine's machine calls its place.
pub(crate) const NODE: &str = "node-0";

/// The MTU of nearly every device, and of a shape of which nobody has asked for another, bytes.
pub(crate) const USUAL_MTU: u32 = 1500;

/// Refuses shapes that no network on one engine has.
pub(crate) fn check(name: &str, shape: &Shape) -> Result<(), Error> {
    let what = || format!("lay out {name}");
    if shape.nodes > 1 {
        return Err(Error::new(what(), "one Docker Engine is one node")
            .with_remedy("use --nodes 1, or a network of a Swarm"));
    }
    if shape.servers == 0 || shape.clients == 0 {
        return Err(Error::new(what(), "there must be a server and a client")
            .with_remedy("use --servers 1 --clients 1 or more"));
    }
    Ok(())
}

/// The server of a client: client i talks to server i mod n.
pub(crate) fn server_of(client: usize, shape: &Shape) -> usize {
    client % (shape.servers.max(1) as usize)
}

/// Routes on which a client dials its server's own address.
pub(crate) fn direct(shape: &Shape, site: &Site, servers: &[Endpoint]) -> Vec<Route> {
    routes(shape, site, |server, port| {
        let address = SocketAddr::new(servers[server].address, port);
        (address, address)
    })
}

/// Routes by two addresses for a server and a port: where it listens, and what is dialled.
pub(crate) fn routes(
    shape: &Shape,
    site: &Site,
    addresses: impl Fn(usize, u16) -> (SocketAddr, SocketAddr),
) -> Vec<Route> {
    (0..shape.clients as usize)
        .flat_map(|client| site.ports.iter().map(move |&port| (client, port)))
        .map(|(client, port)| {
            let server = server_of(client, shape);
            let (listen, dial) = addresses(server, port);
            Route { client, server, listen, dial }
        })
        .collect()
}

/// The names of a side's containers.
pub(crate) fn names(role: &'static str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |index| format!("{role}-{index}"))
}

/// Containers of a side that are all attached alike.
pub(crate) fn specs(role: &'static str, count: u32, on: &On) -> Vec<Spec> {
    names(role, count).map(|name| Spec::new(name, on.clone())).collect()
}

/// Whether an address is of a family.
pub(crate) fn is_of(address: &IpAddr, family: Family) -> bool {
    address.is_ipv4() == (family == Family::Ipv4)
}

/// The container's address on a network, in the shape's family.
pub(crate) fn on_network(
    container: Running,
    network: &str,
    shape: &Shape,
) -> Result<Endpoint, Error> {
    let family = shape.family;
    let address = container.addresses(network).into_iter().find(|one| is_of(one, family));
    let address = address.ok_or_else(|| {
        let what = format!("find the address of {} on the network {network}", container.name);
        let error = Error::new(what, format!("Docker gave it none of {family}"));
        match family {
            Family::Ipv4 => error,
            Family::Ipv6 => error.with_remedy(
                "docker:user-bridge makes a network with IPv6; of an existing network, \
                 Docker decides (--ipv6 when it is created, `ipv6` in daemon.json)",
            ),
        }
    })?;
    Ok(Endpoint { container, address })
}

/// Starts both sides on one network.
pub(crate) fn both_on(
    work: &Work,
    network: &str,
    shape: &Shape,
) -> Result<(Vec<Endpoint>, Vec<Endpoint>), Error> {
    let on = On::Network(network.to_owned());
    let servers = side(work, &specs("server", shape.servers, &on), network, shape)?;
    let clients = side(work, &specs("client", shape.clients, &on), network, shape)?;
    Ok((servers, clients))
}

/// Starts one side on a network.
pub(crate) fn side(
    work: &Work,
    specs: &[Spec],
    network: &str,
    shape: &Shape,
) -> Result<Vec<Endpoint>, Error> {
    let started = work.containers(specs)?;
    started.into_iter().map(|container| on_network(container, network, shape)).collect()
}
