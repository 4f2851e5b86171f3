//! Layout of a network with user-mode stacks: a stack for each container, and an address of the node for each server.

use super::identity;
use super::stack::{ENGINE_MTU, Publication, ServedDevice, StackAttachment, TAP, UserModeStack};
use crate::plan::address::InterfaceSlot;
use crate::plan::layout::{
    Layout, NamespaceEndpoint, PathProof, Waypoint, check_one_node, client_routes,
};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, LabNode, add_nodes};
use crate::plan::wiring::{Carrier, HeldEndpoint, Wiring, loopback};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tare_network::{Error, Family, Hop, HopKind, MtuSource, NetworkParameters, Shape};

/// Side of a network with user-mode stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Namespace of the node.
    Node,
    /// Container behind a stack of its own.
    Stack,
}

/// Lays out a network with these sides: client, server.
pub(super) fn lay_out(
    name: &str,
    stack: &'static dyn UserModeStack,
    (client, server): (Side, Side),
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    check_one_node(name, shape)?;
    let mtu = tap_mtu(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
    let slots = node.addresses(&mut wiring, shape.servers)?;
    let dialled = (0..shape.servers)
        .map(|index| dialled_address(stack, (client, server), &slots, index, shape.family))
        .collect::<Result<Vec<IpAddr>, Error>>()?;
    let program = identity::command(stack.program(), site.argument.as_deref());
    let mut builder = StackBuilder { wiring, node, stack, program, mtu };
    let servers: Vec<NamespaceEndpoint> = dialled
        .iter()
        .enumerate()
        .map(|(index, &host)| match server {
            Side::Node => Ok(NamespaceEndpoint { space: Some(node.space), address: host }),
            Side::Stack => {
                let publication = Publication { host, ports: site.ports.clone() };
                builder.add_container(format!("server-{index}"), Some(publication))
            }
        })
        .collect::<Result<_, Error>>()?;
    let clients: Vec<NamespaceEndpoint> = (0..shape.clients)
        .map(|index| match client {
            Side::Node => Ok(NamespaceEndpoint { space: Some(node.space), address: dialled[0] }),
            Side::Stack => builder.add_container(format!("client-{index}"), None),
        })
        .collect::<Result<_, Error>>()?;
    let path = builder.path((client, &clients[0]), (server, &servers[0]));
    let proof = builder.proof(&path);
    Ok(Layout {
        routes: client_routes(shape, site, |_, server| (servers[server].address, dialled[server])),
        servers,
        clients,
        path,
        proof,
        wiring: builder.wiring,
    })
}

/// Returns the MTU of the tap devices: the user's, or the one that the engines set.
fn tap_mtu(name: &str, shape: &Shape) -> Result<u32, Error> {
    match shape.mtu_by {
        MtuSource::Network => Ok(ENGINE_MTU),
        MtuSource::User if shape.mtu <= ENGINE_MTU => Ok(shape.mtu),
        MtuSource::User => {
            let why = format!("the largest MTU of a user-mode stack is {ENGINE_MTU}");
            Err(Error::new(format!("lay out {name}"), why)
                .with_remedy(format!("use +mtu={ENGINE_MTU} or less")))
        }
    }
}

/// Returns the address that clients of a server dial: one of the node's, or a loopback address if the stack splices
/// connections from there.
fn dialled_address(
    stack: &dyn UserModeStack,
    sides: (Side, Side),
    slots: &[InterfaceSlot],
    index: u32,
    family: Family,
) -> Result<IpAddr, Error> {
    let is_spliced = stack.splices_loopback() && sides == (Side::Node, Side::Stack);
    let number = usize::try_from(index).unwrap_or(usize::MAX);
    match (is_spliced, family) {
        (false, family) => Ok(slots[number].address(family)),
        (true, family) if index == 0 => Ok(loopback(family)),
        (true, Family::Ipv4) => Ok(Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + index).into()),
        (true, Family::Ipv6) => {
            let why = "a node has one loopback address of IPv6";
            Err(Error::new("publish the ports of several servers", why)
                .with_remedy("use --servers 1, or --family ipv4"))
        }
    }
}

/// Layout under construction.
struct StackBuilder {
    wiring: Wiring,
    node: LabNode,
    stack: &'static dyn UserModeStack,
    /// The stack's own program: its name, or an absolute path.
    program: String,
    mtu: u32,
}

impl StackBuilder {
    /// Returns the program that listens on published ports.
    fn listener(&self) -> &str {
        self.stack.other_listener().unwrap_or(&self.program)
    }

    /// Returns the program that holds the tap devices.
    fn tap_holder(&self) -> &str {
        self.stack.other_tap_holder().unwrap_or(&self.program)
    }

    /// Adds a container behind a stack of its own. Returns its endpoint.
    fn add_container(
        &mut self,
        name: String,
        publication: Option<Publication>,
    ) -> Result<NamespaceEndpoint, Error> {
        let family = self.wiring.family;
        let attachment = StackAttachment {
            node: self.node.space,
            node_name: self.wiring.name(self.node.space).to_owned(),
            space: self.wiring.add_namespace(&name, &[]),
            name,
            family,
            mtu: self.mtu,
            program: self.program.clone(),
            publication,
        };
        self.stack.check(&attachment)?;
        self.stack.attach(&mut self.wiring, &attachment);
        self.add_carriers(&attachment);
        let served = attachment.publication.as_ref().map(|_| self.stack.served_device());
        let address = match served {
            Some(ServedDevice::Loopback) => loopback(family),
            Some(ServedDevice::Tap) | None => attachment.tap_address(),
        };
        Ok(NamespaceEndpoint { space: Some(attachment.space), address })
    }

    /// Adds the processes that must carry the container's traffic: the listener of each published port, and the holder
    /// of the tap device.
    fn add_carriers(&mut self, to: &StackAttachment) {
        let node = to.node;
        let own = self.stack.program().name;
        let carrier = |other: Option<&'static str>, endpoint| Carrier {
            node,
            name: other.unwrap_or(own),
            program: other.unwrap_or(&self.program).to_owned(),
            endpoint,
        };
        let listener = |published: &Publication| {
            let (host, other) = (published.host, self.stack.other_listener());
            let address = move |&port: &u16| SocketAddr::new(host, port);
            let of = |address| carrier(other, HeldEndpoint::Listener(address));
            published.ports.iter().map(address).map(of).collect::<Vec<_>>()
        };
        let tap = HeldEndpoint::Tap { space: to.space, device: TAP.to_owned() };
        let holders = to.publication.iter().flat_map(listener);
        let holders: Vec<Carrier> =
            holders.chain([carrier(self.stack.other_tap_holder(), tap)]).collect();
        self.wiring.carriers.extend(holders);
    }

    /// Returns the path of a packet from a client to a server.
    fn path(
        &self,
        (client, near): (Side, &NamespaceEndpoint),
        (server, far): (Side, &NamespaceEndpoint),
    ) -> Vec<Waypoint> {
        let node = self.node.space;
        let place = self.wiring.name(node);
        let forwarder = |program: &str| {
            let detail = format!("{program}: a process for each container");
            let name = identity::file_name(program);
            Waypoint::Other(Hop::new(HopKind::Forwarder, name, place).with_detail(detail))
        };
        let tap = |end: &NamespaceEndpoint| {
            end.space.map(|space| Waypoint::device(HopKind::Device, space, TAP))
        };
        let mut path = Vec::new();
        if client == Side::Stack {
            path.extend(tap(near));
            path.push(forwarder(self.tap_holder()));
        }
        path.push(Waypoint::loopback(Some(node)));
        if server == Side::Stack {
            path.push(forwarder(self.listener()));
            path.extend(match self.stack.served_device() {
                ServedDevice::Tap => tap(far),
                ServedDevice::Loopback => Some(Waypoint::loopback(far.space)),
            });
        }
        path
    }

    /// Returns the proof by the last device of a container on a path.
    fn proof(&self, path: &[Waypoint]) -> Option<PathProof> {
        path.iter().rev().find_map(|waypoint| match waypoint {
            Waypoint::Device { space: Some(space), name, .. } if *space != self.node.space => {
                Some(PathProof::Device { space: *space, name: name.clone() })
            }
            _ => None,
        })
    }
}
