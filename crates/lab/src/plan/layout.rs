//! Layout of a network: its wiring, its servers and clients, and the path of a packet.

use crate::plan::address::InterfaceSlot;
use crate::plan::wiring::{DevicePair, DevicePairEnd, Impairment, NamespaceId, RateLimit, Wiring};
use std::net::{IpAddr, SocketAddr};
use tare_network::{ClientRoute, Error, Family, Hop, HopKind, NetworkParameters, Shape};

/// Endpoint of a server or a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamespaceEndpoint {
    /// Namespace. `None` for that of tare itself.
    pub(crate) space: Option<NamespaceId>,
    /// Address of the endpoint.
    pub(crate) address: IpAddr,
}

impl NamespaceEndpoint {
    /// Returns the endpoint of a container with this slot.
    pub(crate) fn at_slot(space: NamespaceId, slot: InterfaceSlot, family: Family) -> Self {
        Self { space: Some(space), address: slot.address(family) }
    }
}

/// Element of the path of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waypoint {
    /// Device. Its MTU is read from the kernel when the device exists.
    Device {
        /// Kind of the device.
        kind: HopKind,
        /// Namespace. `None` for that of tare itself.
        space: Option<NamespaceId>,
        /// Name of the device.
        name: String,
        /// Detail that distinguishes the device from others of its kind.
        detail: Option<String>,
    },
    /// Element without an MTU of its own.
    Other(Hop),
}

impl Waypoint {
    /// Returns a device in a namespace of the wiring.
    pub(crate) fn device(kind: HopKind, space: NamespaceId, name: impl Into<String>) -> Self {
        Self::Device { kind, space: Some(space), name: name.into(), detail: None }
    }

    /// Returns a device in a namespace of the wiring, with a detail that distinguishes it from others of its kind.
    pub(crate) fn device_with_detail(
        kind: HopKind,
        space: NamespaceId,
        name: &str,
        detail: &str,
    ) -> Self {
        let (name, detail) = (name.to_owned(), Some(detail.to_owned()));
        Self::Device { kind, space: Some(space), name, detail }
    }

    /// Returns the loopback device of a namespace, or of tare's own.
    pub(crate) fn loopback(space: Option<NamespaceId>) -> Self {
        Self::Device { kind: HopKind::Loopback, space, name: "lo".to_owned(), detail: None }
    }
}

/// Counter of packets that must have increased when clients have connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathProof {
    /// Netfilter rule.
    Rule {
        /// Namespace in which the rule is loaded.
        space: NamespaceId,
        /// Part of the rule's text that no other rule has.
        rule: &'static str,
    },
    /// Device, by the packets that it receives.
    Device {
        /// Namespace of the device.
        space: NamespaceId,
        /// Name of the device.
        name: String,
    },
    /// Redirection among the veth pairs of a node.
    Redirect {
        /// Namespace of the node.
        space: NamespaceId,
    },
}

/// Layout of a network for a shape and a site.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Wiring to build.
    pub(crate) wiring: Wiring,
    /// Endpoints of the servers.
    pub(crate) servers: Vec<NamespaceEndpoint>,
    /// Endpoints of the clients.
    pub(crate) clients: Vec<NamespaceEndpoint>,
    /// Routes: one for each client and port.
    pub(crate) routes: Vec<ClientRoute>,
    /// Path of a packet from client 0 to its server.
    pub(crate) path: Vec<Waypoint>,
    /// Proof that packets take this path.
    pub(crate) proof: Option<PathProof>,
}

impl Layout {
    /// Returns the path with the queue in front of every device by which a packet enters a rate-limited device pair.
    pub(crate) fn path_with_queues(&self) -> Vec<Waypoint> {
        let mut path = Vec::new();
        for (index, waypoint) in self.path.iter().enumerate() {
            let next = self.path.get(index + 1);
            path.extend(next.and_then(|next| self.queue(waypoint, next)).map(Waypoint::Other));
            path.push(waypoint.clone());
        }
        path
    }

    /// Returns the queue in front of a device whose peer is the next waypoint. Returns `None` if there is no queue.
    fn queue(&self, from: &Waypoint, to: &Waypoint) -> Option<Hop> {
        let cable = self.wiring.device_pairs.iter().find(|cable| joins_pair(cable, from, to))?;
        let Waypoint::Device { space: Some(space), name, .. } = from else {
            return None;
        };
        let is_here = |one: &&Impairment| one.space == *space && one.device == *name;
        let impaired = self.wiring.impairments.iter().find(is_here);
        let is_limited = |one: &&RateLimit| one.space == *space && one.device == name;
        let own = self.wiring.rate_limits.iter().find(is_limited).map(|one| one.bucket);
        let (queue, detail) = match (impaired, own.or_else(|| cable.bucket(&self.wiring))) {
            (Some(impaired), _) => ("netem", impaired.netem.to_string()),
            (None, Some(bucket)) => ("tbf", bucket.to_string()),
            (None, None) => return None,
        };
        let place = self.wiring.name(*space);
        Some(Hop::new(HopKind::Queue, format!("{name}/{queue}"), place).with_detail(detail))
    }
}

/// Returns `true` if these two waypoints are the two ends of a device pair.
fn joins_pair(cable: &DevicePair, from: &Waypoint, to: &Waypoint) -> bool {
    let is = |waypoint: &Waypoint, end: &DevicePairEnd| {
        matches!(waypoint, Waypoint::Device { space: Some(space), name, .. }
            if *space == end.space && *name == end.device)
    };
    (is(from, &cable.near) && is(to, &cable.far)) || (is(from, &cable.far) && is(to, &cable.near))
}

/// Returns the server of a client: client i uses server i mod n.
pub(crate) fn server_of(client: usize, shape: &Shape) -> usize {
    client % (shape.servers.max(1) as usize)
}

/// Returns the routes of clients that dial the address on which their server listens.
pub(crate) fn direct_routes(
    shape: &Shape,
    site: &NetworkParameters,
    servers: &[NamespaceEndpoint],
) -> Vec<ClientRoute> {
    client_routes(shape, site, |_, server| (servers[server].address, servers[server].address))
}

/// Returns the routes of all clients. `addresses` gives, for a client and its server, the address that the server
/// listens on and the address that the client dials.
pub(crate) fn client_routes(
    shape: &Shape,
    site: &NetworkParameters,
    addresses: impl Fn(usize, usize) -> (IpAddr, IpAddr),
) -> Vec<ClientRoute> {
    let mut routes = Vec::new();
    for client in 0..shape.clients as usize {
        let server = server_of(client, shape);
        let (listen, dial) = addresses(client, server);
        routes.extend(site.ports.iter().map(|&port| ClientRoute {
            client,
            server,
            listen: SocketAddr::new(listen, port),
            dial: SocketAddr::new(dial, port),
        }));
    }
    routes
}

/// Smallest MTU for IPv4, bytes (RFC 791, 3.2).
const LEAST_MTU_IPV4: u32 = 68;
/// Smallest MTU for IPv6, bytes (RFC 8200, 5).
const LEAST_MTU_IPV6: u32 = 1280;
/// Largest MTU of a veth device, bytes.
const MOST_MTU: u32 = 65_535;

/// Refuses a shape that no network on one node supports.
pub(crate) fn check_one_node(name: &str, shape: &Shape) -> Result<(), Error> {
    let what = || format!("lay out {name}");
    if shape.nodes > 1 {
        return Err(Error::new(what(), format!("{name} connects containers on one node only"))
            .with_remedy("use --nodes 1, or a network that connects nodes"));
    }
    if shape.servers == 0 || shape.clients == 0 {
        return Err(Error::new(what(), "at least one server and one client are required")
            .with_remedy("use --servers 1 --clients 1 or more"));
    }
    let least = match shape.family {
        Family::Ipv4 => LEAST_MTU_IPV4,
        Family::Ipv6 => LEAST_MTU_IPV6,
    };
    if !(least..=MOST_MTU).contains(&shape.mtu) {
        return Err(Error::new(
            what(),
            format!("no device supports {} with an MTU of {}", shape.family, shape.mtu),
        )
        .with_remedy(format!("use --mtu from {least} to {MOST_MTU}")));
    }
    let most = crate::plan::nodes::DockerBridge::MOST;
    if shape.servers.saturating_add(shape.clients) > most {
        return Err(Error::new(what(), format!("at most {most} containers are supported"))
            .with_remedy("use fewer --servers or --clients"));
    }
    Ok(())
}
