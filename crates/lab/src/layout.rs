//! A network laid out: what is to be wired, and where in it the servers, the clients and the packet's path are.

use crate::wiring::{Cable, End, Impairment, SpaceId, Wiring};
use std::net::{IpAddr, SocketAddr};
use tare_network::{Error, Family, Hop, HopKind, Route, Shape, Site};

/// Where a server or a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Its namespace; nothing for tare's own.
    pub(crate) space: Option<SpaceId>,
    /// Its own address.
    pub(crate) address: IpAddr,
}

/// One thing on the path of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waypoint {
    /// A device, whose MTU is asked of the kernel when it is there.
    Device {
        /// What kind of device.
        kind: HopKind,
        /// Its namespace; nothing for tare's own.
        space: Option<SpaceId>,
        /// Its name.
        name: String,
        /// What else tells it from its like.
        detail: Option<String>,
    },
    /// Something without an MTU of its own.
    Other(Hop),
}

impl Waypoint {
    /// A device in a namespace of the wiring.
    pub(crate) fn device(kind: HopKind, space: SpaceId, name: impl Into<String>) -> Self {
        Self::Device { kind, space: Some(space), name: name.into(), detail: None }
    }

    /// A device in a namespace of the wiring, with what tells it from its like.
    pub(crate) fn told(kind: HopKind, space: SpaceId, name: &str, detail: &str) -> Self {
        let (name, detail) = (name.to_owned(), Some(detail.to_owned()));
        Self::Device { kind, space: Some(space), name, detail }
    }

    /// The loopback device of a namespace, or of tare's own.
    pub(crate) fn loopback(space: Option<SpaceId>) -> Self {
        Self::Device { kind: HopKind::Loopback, space, name: "lo".to_owned(), detail: None }
    }
}

/// What must have counted packets once clients have connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A netfilter rule.
    Rule {
        /// Where it is loaded.
        space: SpaceId,
        /// A part of its text that no other rule has.
        rule: &'static str,
    },
    /// A device, by what comes in by it.
    Device {
        /// Where it is.
        space: SpaceId,
        /// Its name.
        name: String,
    },
}

/// A network, laid out for a shape and a site.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// What is to be wired.
    pub(crate) wiring: Wiring,
    /// The servers.
    pub(crate) servers: Vec<Endpoint>,
    /// The clients.
    pub(crate) clients: Vec<Endpoint>,
    /// One for each client and port.
    pub(crate) routes: Vec<Route>,
    /// What a packet from client 0 to its server passes.
    pub(crate) path: Vec<Waypoint>,
    /// What shows that it does.
    pub(crate) proof: Option<Proof>,
}

impl Layout {
    /// The path, with the queue in front of every device by which a packet enters a limited cable.
    pub(crate) fn path_with_queues(&self) -> Vec<Waypoint> {
        let mut path = Vec::new();
        for (index, waypoint) in self.path.iter().enumerate() {
            let next = self.path.get(index + 1);
            path.extend(next.and_then(|next| self.queue(waypoint, next)).map(Waypoint::Other));
            path.push(waypoint.clone());
        }
        path
    }

    /// The queue in front of a device whose other end is the next waypoint, where there is one.
    fn queue(&self, from: &Waypoint, to: &Waypoint) -> Option<Hop> {
        let cable = self.wiring.cables.iter().find(|cable| joins(cable, from, to))?;
        let Waypoint::Device { space: Some(space), name, .. } = from else {
            return None;
        };
        let is_here = |one: &&Impairment| one.space == *space && one.device == *name;
        let impaired = self.wiring.impairments.iter().find(is_here);
        let (queue, detail) = match (impaired, cable.bucket(&self.wiring)) {
            (Some(impaired), _) => ("netem", impaired.netem.to_string()),
            (None, Some(bucket)) => ("tbf", bucket.to_string()),
            (None, None) => return None,
        };
        let place = self.wiring.name(*space);
        Some(Hop::new(HopKind::Queue, format!("{name}/{queue}"), place).with_detail(detail))
    }
}

/// Whether these two are a cable's two ends.
fn joins(cable: &Cable, from: &Waypoint, to: &Waypoint) -> bool {
    let is = |waypoint: &Waypoint, end: &End| {
        matches!(waypoint, Waypoint::Device { space: Some(space), name, .. }
            if *space == end.space && *name == end.device)
    };
    (is(from, &cable.near) && is(to, &cable.far)) || (is(from, &cable.far) && is(to, &cable.near))
}

/// The server of a client: client i talks to server i mod n.
pub(crate) fn server_of(client: usize, shape: &Shape) -> usize {
    client % (shape.servers.max(1) as usize)
}

/// Routes by two addresses a client: where its server listens, and what it dials.
pub(crate) fn routes(
    shape: &Shape,
    site: &Site,
    addresses: impl Fn(usize, usize) -> (IpAddr, IpAddr),
) -> Vec<Route> {
    let mut routes = Vec::new();
    for client in 0..shape.clients as usize {
        let server = server_of(client, shape);
        let (listen, dial) = addresses(client, server);
        routes.extend(site.ports.iter().map(|&port| Route {
            client,
            server,
            listen: SocketAddr::new(listen, port),
            dial: SocketAddr::new(dial, port),
        }));
    }
    routes
}

/// The smallest MTU for IPv4, bytes (RFC 791, 3.2).
const LEAST_MTU_IPV4: u32 = 68;
/// The smallest MTU for IPv6, bytes (RFC 8200, 5).
const LEAST_MTU_IPV6: u32 = 1280;
/// The largest MTU of a veth device, bytes.
const MOST_MTU: u32 = 65_535;

/// Refuses shapes that no network on one node has.
pub(crate) fn one_node(name: &str, shape: &Shape) -> Result<(), Error> {
    let what = || format!("lay out {name}");
    if shape.nodes > 1 {
        return Err(Error::new(what(), format!("{name} joins containers on one node"))
            .with_remedy("use --nodes 1, or a network that joins nodes"));
    }
    if shape.servers == 0 || shape.clients == 0 {
        return Err(Error::new(what(), "there must be a server and a client")
            .with_remedy("use --servers 1 --clients 1 or more"));
    }
    let least = match shape.family {
        Family::Ipv4 => LEAST_MTU_IPV4,
        Family::Ipv6 => LEAST_MTU_IPV6,
    };
    if !(least..=MOST_MTU).contains(&shape.mtu) {
        return Err(Error::new(
            what(),
            format!("no device carries {} with an MTU of {}", shape.family, shape.mtu),
        )
        .with_remedy(format!("use an --mtu from {least} to {MOST_MTU}")));
    }
    let most = crate::nodes::DockerBridge::MOST;
    if shape.servers.saturating_add(shape.clients) > most {
        return Err(Error::new(what(), format!("there is room for {most} containers"))
            .with_remedy("ask for fewer --servers and --clients"));
    }
    Ok(())
}
