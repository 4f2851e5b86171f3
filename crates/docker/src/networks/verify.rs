//! Verification that packets pass, and by which path, before anything is measured.
//!
//! In every server a `netns-probe` listens; in every client one connects as the client will. Their snapshots give the
//! hops: MTUs as the kernel reports them, the counter of the device by which packets leave, and the address of the
//! connecting client.

use super::layout::{DEFAULT_MTU, NODE, NetworkEndpoint, NetworkLayout, PathStep, PortForwarder};
use super::port_source::PortSource;
use crate::engine::{Engine, EnginePair};
use crate::exec::{self, ExecCommand, ExecSession, OutputLines};
use crate::image::PROGRAM;
use crate::leftovers::PARALLEL_REQUESTS;
use crate::requirement::UserModeStack;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tare_netns_probe::NetnsSnapshot;
use tare_network::{ClientRoute, Error, Hop, HopKind, INTERNAL, Shape};

/// Connects every client to its server, and returns the hops of a packet from client 0.
///
/// # Errors
/// A client does not reach its server, or a hop that the layout promises is missing.
pub fn verify_paths(
    sides: &EnginePair,
    laid: &NetworkLayout,
    shape: &Shape,
) -> Result<Vec<Hop>, Error> {
    let first: Vec<&ClientRoute> = laid
        .clients
        .iter()
        .enumerate()
        .filter_map(|(client, _)| laid.routes.iter().find(|route| route.client == client))
        .collect();
    if first.is_empty() {
        return Ok(Vec::new());
    }
    sides.servers.wait(async {
        let mut listening = start_listeners(&sides.servers, laid, &first).await?;
        let dialled = connect_clients(&sides.clients, laid, &first).await?;
        let accepted = first_accepted(&mut listening, first[0].server).await;
        let seen = ConnectionSnapshots {
            client: &dialled[0],
            dialled_from: dialled.iter().filter_map(|one| one.local).collect(),
            server: listening.iter().find(|one| one.server == first[0].server).map(|one| &one.seen),
            peer: accepted.as_ref().and_then(|one| one.peer),
            is_tracked_by_server: accepted.is_some_and(|one| one.tracked),
            server_container: &laid.servers[first[0].server],
            client_container: &laid.clients[first[0].client],
        };
        check_path(laid, &seen, shape)?;
        let hops: Vec<Hop> =
            laid.path.iter().map(|step| to_hop(step, &seen)).collect::<Result<_, Error>>()?;
        Ok(with_connection_tracking(hops, &seen))
    })
}

/// A `netns-probe` that listens in a server.
struct ListeningServer {
    server: usize,
    seen: NetnsSnapshot,
    lines: OutputLines,
    /// The program's input; it listens until this ends.
    _input: exec::ExecInput,
}

/// Snapshots of both ends of client 0's connection.
struct ConnectionSnapshots<'a> {
    client: &'a NetnsSnapshot,
    /// Addresses from which the clients have connected, one of which is the server's first peer if no program is between.
    dialled_from: Vec<SocketAddr>,
    server: Option<&'a NetnsSnapshot>,
    peer: Option<SocketAddr>,
    /// True if the server's namespace tracks the connection.
    is_tracked_by_server: bool,
    server_container: &'a NetworkEndpoint,
    client_container: &'a NetworkEndpoint,
}

async fn start_listeners(
    engine: &Arc<Engine>,
    laid: &NetworkLayout,
    routes: &[&ClientRoute],
) -> Result<Vec<ListeningServer>, Error> {
    let mut servers: Vec<&ClientRoute> = Vec::new();
    for route in routes {
        if !servers.iter().any(|one| one.server == route.server) {
            servers.push(route);
        }
    }
    stream::iter(servers)
        .map(|route| start_listener(engine, laid, route))
        .buffered(PARALLEL_REQUESTS)
        .try_collect()
        .await
}

async fn start_listener(
    engine: &Arc<Engine>,
    laid: &NetworkLayout,
    route: &ClientRoute,
) -> Result<ListeningServer, Error> {
    let endpoint = &laid.servers[route.server];
    let what = || format!("listen on {} in {}", route.listen, endpoint.container.name);
    let ExecSession { output, input, .. } =
        start_probe(engine, endpoint, "--listen", route.listen).await?;
    let mut lines = OutputLines::new(output);
    let line = lines
        .next(tare_netns_probe::snapshot_timeout())
        .await
        .map_err(|why| Error::new(what(), why))?;
    let seen = tare_netns_probe::parse_snapshot(&line).map_err(|why| Error::new(what(), why))?;
    Ok(ListeningServer { server: route.server, seen, lines, _input: input })
}

async fn connect_clients(
    engine: &Arc<Engine>,
    laid: &NetworkLayout,
    routes: &[&ClientRoute],
) -> Result<Vec<NetnsSnapshot>, Error> {
    stream::iter(routes)
        .map(|route| async move {
            let endpoint = &laid.clients[route.client];
            let exec = start_probe(engine, endpoint, "--dial", route.dial).await?;
            exec::read_snapshot(exec).await.map_err(|why| {
                Error::new(format!("reach {} from {}", route.dial, endpoint.container.name), why)
            })
        })
        .buffered(PARALLEL_REQUESTS)
        .try_collect()
        .await
}

async fn start_probe(
    engine: &Arc<Engine>,
    endpoint: &NetworkEndpoint,
    flag: &str,
    address: SocketAddr,
) -> Result<ExecSession, Error> {
    let address = address.to_string();
    let command = [PROGRAM, INTERNAL, "netns-probe", flag, &address].map(str::to_owned).to_vec();
    let words = ExecCommand { command, ..ExecCommand::default() };
    let words = endpoint.container.exec_command(words);
    exec::start(engine.docker(), &endpoint.container.id, words).await.map_err(|refusal| {
        engine.to_error(format!("start a program in {}", endpoint.container.name), &refusal)
    })
}

/// Returns what a server says of the first connection to it.
async fn first_accepted(listening: &mut [ListeningServer], server: usize) -> Option<NetnsSnapshot> {
    let one = listening.iter_mut().find(|one| one.server == server)?;
    let line = one.lines.next(tare_netns_probe::snapshot_timeout()).await.ok()?;
    tare_netns_probe::parse_snapshot(&line).ok()
}

/// Adds the connection tracking of the ends, which rules in their namespaces ask for: those of a container that has the
/// engine's DNS server, or those of the engine's machine. A path begins or ends in such a namespace with its device.
fn with_connection_tracking(hops: Vec<Hop>, seen: &ConnectionSnapshots<'_>) -> Vec<Hop> {
    let (client, server) =
        (&seen.client_container.container.name, &seen.server_container.container.name);
    let starts_there = hops.first().is_some_and(|hop| hop.place == *client);
    let ends_there = hops.last().is_some_and(|hop| hop.place == *server);
    let tracking = |is_tracked: bool, place: &str| {
        is_tracked.then(|| Hop::new(HopKind::Conntrack, "nf_conntrack", place))
    };
    let first = tracking(starts_there && seen.client.tracked, client);
    let last = tracking(ends_there && seen.is_tracked_by_server, server);
    first.into_iter().chain(hops).chain(last).collect()
}

/// Checks that the device by which packets leave the client has counted them, and has the requested MTU.
fn check_path(
    laid: &NetworkLayout,
    seen: &ConnectionSnapshots<'_>,
    shape: &Shape,
) -> Result<(), Error> {
    let own = laid.path.iter().find_map(|step| match step {
        PathStep::ClientDevice(kind, name) => {
            Some((*kind, seen.client.device(name), (*name).to_owned()))
        }
        PathStep::ClientAddressDevice(kind) => {
            let address = seen.client_container.address;
            Some((*kind, seen.client.device_of(address), format!("with {address}")))
        }
        _ => None,
    });
    let Some((kind, device, wanted)) = own else { return Ok(()) };
    let device = device.ok_or_else(|| {
        Error::new(
            format!("find the device {wanted} in client-0"),
            "the kernel lists no such device",
        )
    })?;
    let name = &device.name;
    if device.sent == 0 {
        let what = format!("verify that packets leave client-0 through {name}");
        let why = "the counter of this device did not increase: packets take another path";
        return Err(Error::new(what, why));
    }
    let asked = shape.mtu != DEFAULT_MTU && kind != HopKind::Loopback;
    if let Some(mtu) = device.mtu.filter(|&mtu| asked && mtu != shape.mtu) {
        let why = format!("the device {name} has an MTU of {mtu}");
        return Err(Error::new(format!("give client-0 an MTU of {}", shape.mtu), why).with_remedy(
            "omit --mtu, or use docker:user-bridge, docker:macvlan or docker:ipvlan-l2",
        ));
    }
    Ok(())
}

/// Returns the hop of the device that has an endpoint's address.
fn address_hop(seen: &NetnsSnapshot, kind: HopKind, endpoint: &NetworkEndpoint) -> Hop {
    let place = &endpoint.container.name;
    match seen.device_of(endpoint.address) {
        Some(device) => device.to_hop(kind, place),
        None => Hop::new(kind, endpoint.address.to_string(), place),
    }
}

/// Converts a step to the hop that the run records.
fn to_hop(step: &PathStep, seen: &ConnectionSnapshots<'_>) -> Result<Hop, Error> {
    let device = |seen: &NetnsSnapshot, kind, name: &str, place: &str| {
        let device = seen.device(name).ok_or_else(|| {
            Error::new(
                format!("find the device {name} in {place}"),
                "the kernel lists no such device",
            )
        })?;
        Ok(device.to_hop(kind, place))
    };
    match step {
        PathStep::ClientDevice(kind, name) => device(seen.client, *kind, name, "client-0"),
        PathStep::ServerDevice(kind, name) => match seen.server {
            Some(server) => device(server, *kind, name, &seen.server_container.container.name),
            None => Ok(Hop::new(*kind, *name, "server-0")),
        },
        PathStep::ClientAddressDevice(kind) => {
            Ok(address_hop(seen.client, *kind, seen.client_container))
        }
        PathStep::ServerAddressDevice(kind) => Ok(match seen.server {
            Some(server) => address_hop(server, *kind, seen.server_container),
            None => Hop::new(*kind, "its own device", &seen.server_container.container.name),
        }),
        PathStep::Node(hop) => Ok(hop.clone()),
        PathStep::PortForwarder(forwarder) => Ok(forwarder_hop(*forwarder, seen)),
        PathStep::StackForwarder(stack, port) => stack_hop(*stack, *port, seen),
    }
}

/// Returns the hop of a stack in user space, if the server's device and the address of its peer are those that this stack
/// gives: pasta copies an address of the machine, slirp4netns does not, and both connect from an address beyond the
/// device. A program that forwards past the stack connects from the container's own address.
fn stack_hop(
    stack: UserModeStack,
    port: u16,
    seen: &ConnectionSnapshots<'_>,
) -> Result<Hop, Error> {
    let own = seen.server_container.address;
    let peer = seen.peer.map(|peer| to_canonical(peer.ip()));
    let is_copied = seen.client.addresses.contains(&own);
    let wrong = match (stack, peer) {
        (_, None) => Some("the server saw no connection".to_owned()),
        (_, Some(peer)) if peer == own => {
            Some(format!("connections come from the container's own address {peer}"))
        }
        (UserModeStack::Pasta, _) if !is_copied => {
            Some(format!("its address {own} is none of the machine's"))
        }
        (UserModeStack::Slirp4netns, _) if is_copied => {
            Some(format!("its address {own} is the machine's"))
        }
        _ => None,
    };
    let name = stack.name();
    match wrong {
        Some(why) => {
            Err(Error::new(format!("verify that packets reach server-0 through {name}"), why)
                .with_remedy("see `podman info` and `ps` for the program that Podman runs instead"))
        }
        None => Ok(Hop::new(HopKind::Forwarder, name, NODE).with_detail(format!("port {port}"))),
    }
}

/// Returns the hop that forwards a published port: a rule, or the engine's program. Docker's connects from the gateway's
/// address, Podman's from the container's.
fn forwarder_hop(forwarder: PortForwarder, seen: &ConnectionSnapshots<'_>) -> Hop {
    let PortForwarder { rules, proxy, port } = forwarder;
    let mut programs = seen.server_container.container.gateways();
    programs.push(seen.server_container.address);
    let rule = |detail| Hop::new(HopKind::Nat, rules, NODE).with_detail(detail);
    match PortSource::of_peer(seen.peer, &seen.dialled_from, &programs) {
        PortSource::Client => rule(format!("port {port}")),
        PortSource::Masquerade => rule(format!("port {port}, masquerade")),
        PortSource::Program => {
            Hop::new(HopKind::Forwarder, proxy, NODE).with_detail(format!("port {port}"))
        }
    }
}

/// Converts an IPv4-mapped address of an IPv6 socket to IPv4.
fn to_canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}
