//! Proof that packets pass, and where, before anything is measured.
//!
//! In every server a look listens, from every client one dials what the client will dial. What they see gives the
//! hops: MTUs as the kernel has them, the counter of the device by which a packet leaves, and who it was that connected.

use super::laid::{Endpoint, Laid, NODE, Step, USUAL_MTU};
use crate::engine::{Engine, Sides};
use crate::exec::{self, Exec, Lines, Words};
use crate::image::PROGRAM;
use crate::leftovers::AT_ONCE;
use crate::look::{self, Seen};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tare_network::{Error, Hop, HopKind, Route, Shape};

/// Connects every client with its server, and says what a packet of client 0 passes.
pub(crate) fn prove(sides: &Sides, laid: &Laid, shape: &Shape) -> Result<Vec<Hop>, Error> {
    let first: Vec<&Route> = laid
        .clients
        .iter()
        .enumerate()
        .filter_map(|(client, _)| laid.routes.iter().find(|route| route.client == client))
        .collect();
    if first.is_empty() {
        return Ok(Vec::new());
    }
    sides.servers.wait(async {
        let mut listening = listen(&sides.servers, laid, &first).await?;
        let dialled = dial(&sides.clients, laid, &first).await?;
        let peer = peer(&mut listening, first[0].server).await;
        let seen = Both {
            dialled: first[0].dial.ip(),
            client: &dialled[0],
            server: listening.iter().find(|one| one.server == first[0].server).map(|one| &one.seen),
            peer,
            server_container: &laid.servers[first[0].server],
            client_container: &laid.clients[first[0].client],
        };
        check_path(laid, &seen, shape)?;
        laid.path.iter().map(|step| hop(step, &seen)).collect()
    })
}

/// A look that listens in a server.
struct Listening {
    server: usize,
    seen: Seen,
    lines: Lines,
    /// It listens until this ends.
    _input: exec::Input,
}

/// What both ends of client 0's connection saw.
struct Both<'a> {
    dialled: IpAddr,
    client: &'a Seen,
    server: Option<&'a Seen>,
    peer: Option<SocketAddr>,
    server_container: &'a Endpoint,
    client_container: &'a Endpoint,
}

async fn listen(
    engine: &Arc<Engine>,
    laid: &Laid,
    routes: &[&Route],
) -> Result<Vec<Listening>, Error> {
    let mut servers: Vec<&Route> = Vec::new();
    for route in routes {
        if !servers.iter().any(|one| one.server == route.server) {
            servers.push(route);
        }
    }
    stream::iter(servers)
        .map(|route| listen_in(engine, laid, route))
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

async fn listen_in(engine: &Arc<Engine>, laid: &Laid, route: &Route) -> Result<Listening, Error> {
    let endpoint = &laid.servers[route.server];
    let what = || format!("listen on {} in {}", route.listen, endpoint.container.name);
    let Exec { output, input, .. } = begin(engine, endpoint, "--listen", route.listen).await?;
    let mut lines = Lines::of(output);
    let line = lines.next(look::limit()).await.map_err(|why| Error::new(what(), why))?;
    let seen = look::parse(&line).map_err(|why| Error::new(what(), why))?;
    Ok(Listening { server: route.server, seen, lines, _input: input })
}

async fn dial(engine: &Arc<Engine>, laid: &Laid, routes: &[&Route]) -> Result<Vec<Seen>, Error> {
    stream::iter(routes)
        .map(|route| async move {
            let endpoint = &laid.clients[route.client];
            let exec = begin(engine, endpoint, "--dial", route.dial).await?;
            look::read(exec).await.map_err(|why| {
                Error::new(format!("reach {} from {}", route.dial, endpoint.container.name), why)
            })
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

async fn begin(
    engine: &Arc<Engine>,
    endpoint: &Endpoint,
    flag: &str,
    address: SocketAddr,
) -> Result<Exec, Error> {
    let address = address.to_string();
    let command = [PROGRAM, "look", flag, &address].map(str::to_owned).to_vec();
    let words = Words { command, ..Words::default() };
    let words = endpoint.container.words(words);
    exec::start(engine.docker(), &endpoint.container.id, words).await.map_err(|refusal| {
        engine.failed(format!("start a program in {}", endpoint.container.name), &refusal)
    })
}

/// Who connected to a server first.
async fn peer(listening: &mut [Listening], server: usize) -> Option<SocketAddr> {
    let one = listening.iter_mut().find(|one| one.server == server)?;
    let line = one.lines.next(look::limit()).await.ok()?;
    look::parse(&line).ok()?.peer
}

/// The device by which a packet leaves the client must have counted it, and carry what was asked for.
fn check_path(laid: &Laid, seen: &Both<'_>, shape: &Shape) -> Result<(), Error> {
    let own = laid.path.iter().find_map(|step| match step {
        Step::OfClient(kind, name) => Some((*kind, seen.client.device(name), (*name).to_owned())),
        Step::ClientOwn(kind) => {
            let address = seen.client_container.address;
            Some((*kind, seen.client.device_of(address), format!("with {address}")))
        }
        _ => None,
    });
    let Some((kind, device, wanted)) = own else { return Ok(()) };
    let device = device.ok_or_else(|| {
        Error::new(format!("find the device {wanted} in client-0"), "the kernel does not list it")
    })?;
    let name = &device.name;
    if device.sent == 0 {
        let what = format!("see packets leave client-0 by {name}");
        return Err(Error::new(what, "its counter has not moved: they take another path"));
    }
    let asked = shape.mtu != USUAL_MTU && kind != HopKind::Loopback;
    if asked && device.mtu != shape.mtu {
        let why = format!("its {name} has an MTU of {}", device.mtu);
        return Err(Error::new(format!("give client-0 an MTU of {}", shape.mtu), why).with_remedy(
            "leave --mtu out, or use docker:user-bridge, docker:macvlan or docker:ipvlan-l2",
        ));
    }
    Ok(())
}

/// The device that has an endpoint's address.
fn own(seen: &Seen, kind: HopKind, endpoint: &Endpoint) -> Hop {
    let place = &endpoint.container.name;
    match seen.device_of(endpoint.address) {
        Some(device) => Hop::new(kind, &device.name, place).with_mtu(device.mtu),
        None => Hop::new(kind, endpoint.address.to_string(), place),
    }
}

/// A step as the run keeps it.
fn hop(step: &Step, seen: &Both<'_>) -> Result<Hop, Error> {
    let device = |seen: &Seen, kind, name: &str, place: &str| {
        let device = seen.device(name).ok_or_else(|| {
            Error::new(format!("find the device {name} in {place}"), "the kernel does not list it")
        })?;
        Ok(Hop::new(kind, name, place).with_mtu(device.mtu))
    };
    match step {
        Step::OfClient(kind, name) => device(seen.client, *kind, name, "client-0"),
        Step::OfServer(kind, name) => match seen.server {
            Some(server) => device(server, *kind, name, &seen.server_container.container.name),
            None => Ok(Hop::new(*kind, *name, "server-0")),
        },
        Step::ClientOwn(kind) => Ok(own(seen.client, *kind, seen.client_container)),
        Step::ServerOwn(kind) => Ok(match seen.server {
            Some(server) => own(server, *kind, seen.server_container),
            None => Hop::new(*kind, "its own device", &seen.server_container.container.name),
        }),
        Step::Node(hop) => Ok(hop.clone()),
        Step::Publisher(rule) => Ok(publisher(rule, seen)),
    }
}

/// A rule keeps the client's address; the userland proxy connects by its own, the gateway's. Where the gateway itself was
/// dialled, one cannot tell: the rule comes first.
fn publisher(rule: &str, seen: &Both<'_>) -> Hop {
    let gateways = seen.server_container.container.gateways();
    let proxied = !gateways.contains(&seen.dialled)
        && seen.peer.is_some_and(|peer| gateways.contains(&plain(peer.ip())));
    let hop = if proxied {
        Hop::new(HopKind::Forwarder, "docker-proxy", NODE)
    } else {
        Hop::new(HopKind::Nat, "nat/DOCKER", NODE)
    };
    hop.with_detail(rule)
}

/// An IPv4 address that came to an IPv6 socket, as what it is.
fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}
