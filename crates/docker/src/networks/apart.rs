//! Networks between two engines: servers on one machine, clients on another, each spoken to by its own API.

use super::bridge::{DEFAULT, DEVICE, bridge_of};
use super::laid::{Endpoint, Laid, Step, direct, names, on_network, routes, side, specs};
use super::macvlan::{Sub, on_parent, parent_of};
use super::node::{Node, own_address};
use super::published::{outside, subnets};
use super::ranges::Ranges;
use crate::work::{On, Published as Port, Spec, Work};
use std::net::{IpAddr, SocketAddr};
use tare_network::{Error, Hop, HopKind, Missing, Shape, Site};

/// What hops call the clients' machine and the servers'.
pub(super) const CLIENTS: &str = "node-0";
pub(super) const SERVERS: &str = "node-1";

/// Why a network is not between two engines.
pub(super) fn cannot(name: &str) -> Missing {
    Missing {
        reason: format!("{name} is a network of one engine, and two contexts are named"),
        remedy: "use docker:host, docker:published, docker:macvlan, docker:overlay-kv, or a network of a Swarm"
            .to_owned(),
    }
}

/// The address by which an engine's machine is reached, as a container in its own network sees it.
fn address_of(work: &Work, shape: &Shape) -> Result<IpAddr, Error> {
    let Node { seen, .. } = Node::see(work)?;
    own_address(&seen, &subnets(work)?, shape.family)
}

/// Clients on their machine's own network.
fn on_host(work: &Work, shape: &Shape) -> Result<Vec<Endpoint>, Error> {
    let address = address_of(work, shape)?;
    let started = work.containers(&specs("client", shape.clients, &On::Host))?;
    Ok(started.into_iter().map(|container| Endpoint { container, address }).collect())
}

/// `docker:host` between two engines: both ends on their machines' own networks.
pub(super) fn host(
    servers: &Work,
    clients: &Work,
    shape: &Shape,
    site: &Site,
) -> Result<Laid, Error> {
    if shape.servers > 1 {
        let why = "all servers of one machine would listen on the same ports";
        return Err(Error::new("lay out docker:host", why).with_remedy("use --servers 1"));
    }
    let address = address_of(servers, shape)?;
    let started = servers.containers(&specs("server", shape.servers, &On::Host))?;
    let on_server: Vec<Endpoint> =
        started.into_iter().map(|container| Endpoint { container, address }).collect();
    Ok(Laid {
        routes: direct(shape, site, &on_server),
        servers: on_server,
        clients: on_host(clients, shape)?,
        path: vec![Step::ClientOwn(HopKind::Device), Step::ServerOwn(HopKind::Device)],
    })
}

/// `docker:published` between two engines: servers on the default bridge, their ports published on their machine.
pub(super) fn published(
    servers: &Work,
    clients: &Work,
    shape: &Shape,
    site: &Site,
) -> Result<Laid, Error> {
    let address = address_of(servers, shape)?;
    let on = On::Network(DEFAULT.to_owned());
    let spec = |(server, name): (usize, String)| {
        let port =
            |&port: &u16| Port { port, on: address, outside: outside(server, port, &site.ports) };
        Spec { published: site.ports.iter().map(port).collect(), ..Spec::new(name, on.clone()) }
    };
    let wanted: Vec<Spec> = names("server", shape.servers).enumerate().map(spec).collect();
    let on_bridge = side(servers, &wanted, DEFAULT, shape)?;
    let bridge = bridge_of(servers, DEFAULT)?;
    let port = site.ports.first().copied().unwrap_or_default();
    Ok(Laid {
        routes: routes(shape, site, |server, port| {
            let listen = SocketAddr::new(on_bridge[server].address, port);
            (listen, SocketAddr::new(address, outside(server, port, &site.ports)))
        }),
        servers: on_bridge,
        clients: on_host(clients, shape)?,
        path: vec![
            Step::ClientOwn(HopKind::Device),
            // Connections from elsewhere take the rule, with or without the userland proxy.
            Step::Node(
                Hop::new(HopKind::Nat, "nat/DOCKER", SERVERS).with_detail(format!("port {port}")),
            ),
            Step::Node(Hop::new(HopKind::Bridge, bridge, SERVERS).with_detail("driver bridge")),
            Step::OfServer(HopKind::Veth, DEVICE),
        ],
    })
}

/// `docker:macvlan` between two engines: one subnet on both uplinks, each engine with a range of it.
pub(super) fn macvlan(
    servers: &Work,
    clients: &Work,
    shape: &Shape,
    site: &Site,
) -> Result<Laid, Error> {
    let ranges = Ranges::fresh();
    let started = |work: &Work, index, role, count| -> Result<(Vec<Endpoint>, String), Error> {
        let parent = parent_of(work, &Node::see(work)?.seen)?;
        let mut asked = on_parent(Sub::Macvlan, &parent, shape);
        asked.ipam = Some(ranges.of(index));
        let network = work.network(asked)?;
        let on = On::Network(network.clone());
        let started = work.containers(&specs(role, count, &on))?;
        let endpoints = started.into_iter().map(|one| on_network(one, &network, shape));
        Ok((endpoints.collect::<Result<_, _>>()?, parent))
    };
    let (on_clients, parent) = started(clients, 0, "client", shape.clients)?;
    let (on_servers, _) = started(servers, 1, "server", shape.servers)?;
    let below = Hop::new(HopKind::Device, parent, CLIENTS).with_detail("driver macvlan, bridge");
    Ok(Laid {
        routes: direct(shape, site, &on_servers),
        servers: on_servers,
        clients: on_clients,
        path: vec![
            Step::ClientOwn(HopKind::Device),
            Step::Node(below),
            Step::ServerOwn(HopKind::Device),
        ],
    })
}
