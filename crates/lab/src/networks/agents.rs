//! IPsec between containers of two nodes and more, each end of a tunnel in an agent container: what `ipsec` and `ipsec-user`
//! have in common.
//!
//! As Rancher 1.x did: on each node an agent container runs strongSwan, containers reach those of other nodes through it,
//! and it seals what they send, or has the kernel seal it.

use super::wired;
use crate::address::{Slot, Subnet, prefix_length};
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{Node, UPLINK};
use crate::pods::{self, BRIDGE, Pod};
use crate::strongswan::{self, DEVICE, End, Esp};
use crate::underlay::{ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{Cable, Destination, End as CableEnd, Route, SpaceId, Sysctl, Wiring};
use tare_network::{Error, Family, Hop, HopKind, MtuBy, Need, Shape, Site};

/// What of a packet on the underlay is not the containers', bytes: IPv4, UDP, ESP with AES-GCM and its padding, and room.
const HEADERS: u32 = 100;

/// The MTU of strongSwan's TUN device, bytes, whatever the links carry (`TUN_DEFAULT_MTU`).
const TUN_MTU: u32 = 1400;

/// The number of the agent's interface on its node's bridge.
const AGENT: u16 = 65_000;

/// An agent sends on by the device by which packets came, and must not tell their senders to leave it out.
const NO_REDIRECTS: [Sysctl; 2] = [
    Sysctl::required("net.ipv4.conf.all.send_redirects", "0"),
    Sysctl::required("net.ipv4.conf.default.send_redirects", "0"),
];

/// What it needs, whoever seals.
pub(super) fn needs(esp: Esp) -> Vec<Need> {
    let mut needs = wired();
    needs.push(Need::Nodes(2));
    needs.extend(strongswan::needs(esp));
    needs
}

/// Containers on bridges, and agents that seal what leaves a node.
pub(super) fn layout(name: &str, esp: Esp, shape: &Shape, site: &Site) -> Result<Layout, Error> {
    joins(name, 2, shape)?;
    if shape.family == Family::Ipv6 {
        let why = "the agents' tunnels are for IPv4, as Rancher's were";
        return Err(Error::new(format!("lay out {name}"), why).with_remedy("use --family ipv4"));
    }
    let mut wiring = Wiring::new(shape.family, inside(shape, esp)?);
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    let pods = pods::on_bridges(&mut wiring, &underlay, shape, site);
    // What an agent sends is larger than what it was sent.
    for bridge in wiring.bridges.iter_mut().filter(|bridge| bridge.name == BRIDGE) {
        bridge.mtu = Some(underlay.link.mtu());
    }
    let agents: Vec<SpaceId> =
        underlay.nodes.iter().map(|&node| add_agent(&mut wiring, &underlay, node)).collect();
    for pod in pods.all() {
        through_agent(&mut wiring, &underlay, &agents, pod);
    }
    reach_agents(&mut wiring, &underlay);
    let ends: Vec<End> = underlay
        .nodes
        .iter()
        .zip(&agents)
        .map(|(node, &space)| End {
            space,
            number: node.number(),
            address: agent_slot(*node).address(shape.family),
            network: Subnet::docker(node.number()).prefix(shape.family),
        })
        .collect();
    strongswan::join(&mut wiring, esp, &ends)?;
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    if esp == Esp::Kernel {
        strongswan::count(&mut wiring, agents[client.node]);
    }
    let mut path = to_underlay(&wiring, &underlay, &agents, esp, client);
    path.extend(underlay.path(client.node, server.node));
    path.extend(to_underlay(&wiring, &underlay, &agents, esp, server).into_iter().rev());
    let agent = agents[client.node];
    let mut layout = pods.layout(wiring, path, shape, site);
    layout.proof =
        (esp == Esp::Userspace).then(|| Proof::Device { space: agent, name: DEVICE.to_owned() });
    Ok(layout)
}

/// The MTU of containers: what fits the TUN device too, where there is one, or what the user has named.
fn inside(shape: &Shape, esp: Esp) -> Result<u32, Error> {
    let fits = mtu_inside(shape, &link_of(shape)?, HEADERS);
    Ok(match (shape.mtu_by, esp) {
        (MtuBy::Network, Esp::Userspace) => fits.min(TUN_MTU),
        (MtuBy::Network, Esp::Kernel) | (MtuBy::User, _) => fits,
    })
}

fn agent_slot(node: Node) -> Slot {
    Subnet::docker(node.number()).slot(AGENT)
}

fn agent_port(node: Node) -> String {
    format!("veth-a{}", node.number())
}

/// A node's agent: a container on its bridge that sends packets on.
fn add_agent(wiring: &mut Wiring, underlay: &Underlay, node: Node) -> SpaceId {
    let slot = agent_slot(node);
    let settings = [&ROUTER[..], &NO_REDIRECTS].concat();
    let space = wiring.space(format!("agent-{}", node.number()), &settings);
    let near = CableEnd::new(node.space, agent_port(node)).plugged_into(BRIDGE);
    let far = CableEnd::new(space, UPLINK).with_mac(slot.mac());
    wiring.cables.push(Cable { mtu: Some(underlay.link.mtu()), ..Cable::new(near, far) });
    wiring.address(space, UPLINK, slot);
    let gateway = Subnet::docker(node.number()).slot(1);
    wiring.routes.push(Route::default_via(space, gateway.address(wiring.family)));
    wiring.neighbour(space, UPLINK, gateway);
    wiring.neighbour(node.space, BRIDGE, slot);
    space
}

/// A container reaches those of other nodes through its node's agent.
fn through_agent(wiring: &mut Wiring, underlay: &Underlay, agents: &[SpaceId], pod: &Pod) {
    let node = underlay.nodes[pod.node];
    let agent = agent_slot(node);
    for other in underlay.nodes.iter().filter(|other| **other != node) {
        let network = Subnet::docker(other.number()).slot(0).address(wiring.family);
        let to = Destination::Net(network, prefix_length(wiring.family));
        let via = Some(agent.address(wiring.family));
        wiring.routes.push(Route { via, ..Route::to(pod.space, to) });
    }
    wiring.neighbour(pod.space, UPLINK, agent);
    wiring.neighbour(agents[pod.node], UPLINK, pod.slot);
}

/// Nodes reach each other's agents, and nothing else behind each other.
fn reach_agents(wiring: &mut Wiring, underlay: &Underlay) {
    const HOST: u8 = 32;
    for (one, other) in underlay.pairs() {
        let to = Destination::Net(agent_slot(other).address(wiring.family), HOST);
        let via = Some(other.slot(0).address(wiring.family));
        wiring.routes.push(Route { via, ..Route::to(one.space, to) });
    }
}

/// From a container through its node's agent and back onto the node.
fn to_underlay(
    wiring: &Wiring,
    underlay: &Underlay,
    agents: &[SpaceId],
    esp: Esp,
    pod: &Pod,
) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node];
    let agent = agents[pod.node];
    let port = || Waypoint::device(HopKind::Veth, node.space, agent_port(node));
    let sealed = match esp {
        Esp::Userspace => Waypoint::device(HopKind::Forwarder, agent, DEVICE),
        Esp::Kernel => {
            let hop = Hop::new(HopKind::Encapsulation, "xfrm", wiring.name(agent));
            Waypoint::Other(hop.with_detail("ESP in tunnel mode, AES-GCM, by the kernel"))
        }
    };
    let mut path = pods::to_bridge(underlay, pod);
    path.extend([
        port(),
        Waypoint::device(HopKind::Veth, agent, UPLINK),
        sealed,
        Waypoint::device(HopKind::Veth, agent, UPLINK),
        port(),
        Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
    ]);
    path
}
