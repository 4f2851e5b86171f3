//! Layout shared by `ipsec` and `ipsec-user`: IPsec between the containers of two or more nodes, with each tunnel
//! endpoint in an agent container.
//!
//! As in Rancher 1.x, an agent container on each node runs strongSwan. Containers reach those of other nodes through
//! the agent, which encrypts what they send or has the kernel encrypt it.

use crate::networks::ipsec::strongswan;
use crate::networks::ipsec::strongswan::{DEVICE, EspMode, TunnelEnd};
use crate::networks::veth_and_bridge_requirements;
use crate::plan::address::{InterfaceSlot, LabSubnet, prefix_length};
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::node_containers;
use crate::plan::node_containers::{BRIDGE, NodeContainer};
use crate::plan::nodes::{LabNode, UPLINK};
use crate::plan::underlay::{ROUTER, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::{DevicePair, DevicePairEnd as CableEnd, IpRoute, NamespaceId, Wiring};
use tare_network::{Error, Family, Hop, HopKind, MtuSource, NetworkParameters, Requirement, Shape};
use tare_sandbox::Sysctl;
use tare_sandbox::addressing::RouteDestination;

/// Headers on the underlay, bytes: IPv4, UDP, ESP with AES-GCM and its padding, and a margin.
const HEADERS: u32 = 100;

/// MTU of strongSwan's TUN device, bytes, whatever the links carry (`TUN_DEFAULT_MTU`).
const TUN_MTU: u32 = 1400;

/// Number of the agent's address in the subnet of its node's bridge.
const AGENT: u16 = 65_000;

/// Sysctls of an agent without ICMP redirects: it forwards by the device on which packets arrive, and must not have
/// their senders bypass it.
const NO_REDIRECTS: [Sysctl; 2] = [
    Sysctl::required("net.ipv4.conf.all.send_redirects", "0"),
    Sysctl::required("net.ipv4.conf.default.send_redirects", "0"),
];

/// Returns the requirements of the network, with those of the ESP implementation.
pub(crate) fn requirements(esp: EspMode) -> Vec<Requirement> {
    let mut needs = veth_and_bridge_requirements();
    needs.push(Requirement::Nodes(2));
    needs.extend(strongswan::requirements(esp));
    needs
}

/// Lays out containers on bridges, and agents that encrypt the traffic between nodes.
///
/// Fails for IPv6, or if the shape does not fit.
pub(crate) fn layout(
    name: &str,
    esp: EspMode,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    check_nodes(name, 2, shape)?;
    if shape.family == Family::Ipv6 {
        let why = "the agents' tunnels carry IPv4 only, like those of Rancher";
        return Err(Error::new(format!("lay out {name}"), why).with_remedy("use --family ipv4"));
    }
    let mut wiring = Wiring::new(shape.family, container_mtu(shape, esp)?);
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    let pods = node_containers::add_on_bridges(&mut wiring, &underlay, shape, site);
    // Packets from an agent are larger than those it receives, by the IPsec headers.
    for bridge in wiring.bridges.iter_mut().filter(|bridge| bridge.name == BRIDGE) {
        bridge.mtu = Some(underlay.link.mtu());
    }
    let agents: Vec<NamespaceId> =
        underlay.nodes.iter().map(|&node| add_agent(&mut wiring, &underlay, node)).collect();
    for pod in pods.all() {
        route_through_agent(&mut wiring, &underlay, &agents, pod);
    }
    route_to_agents(&mut wiring, &underlay);
    let ends: Vec<TunnelEnd> = underlay
        .nodes
        .iter()
        .zip(&agents)
        .map(|(node, &space)| TunnelEnd {
            space,
            number: node.number(),
            address: agent_slot(*node).address(shape.family),
            network: LabSubnet::docker(node.number()).prefix(shape.family),
        })
        .collect();
    strongswan::add_tunnels(&mut wiring, esp, &ends)?;
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    if esp == EspMode::Kernel {
        strongswan::add_esp_counter(&mut wiring, agents[client.node]);
    }
    let mut path = to_underlay(&wiring, &underlay, &agents, esp, client);
    path.extend(underlay.path(client.node, server.node));
    path.extend(to_underlay(&wiring, &underlay, &agents, esp, server).into_iter().rev());
    let agent = agents[client.node];
    let mut layout = pods.layout(wiring, path, shape, site);
    layout.proof = (esp == EspMode::Userspace)
        .then(|| PathProof::Device { space: agent, name: DEVICE.to_owned() });
    Ok(layout)
}

/// Returns the MTU of containers, bytes: the one that fits the links and the TUN device, if there is one, or the user's
/// own.
fn container_mtu(shape: &Shape, esp: EspMode) -> Result<u32, Error> {
    let fits = inner_mtu(shape, &parse_link(shape)?, HEADERS);
    Ok(match (shape.mtu_by, esp) {
        (MtuSource::Network, EspMode::Userspace) => fits.min(TUN_MTU),
        (MtuSource::Network, EspMode::Kernel) | (MtuSource::User, _) => fits,
    })
}

fn agent_slot(node: LabNode) -> InterfaceSlot {
    LabSubnet::docker(node.number()).slot(AGENT)
}

fn agent_port(node: LabNode) -> String {
    format!("veth-a{}", node.number())
}

/// Adds a node's agent: a container on its bridge that forwards packets.
fn add_agent(wiring: &mut Wiring, underlay: &Underlay, node: LabNode) -> NamespaceId {
    let slot = agent_slot(node);
    let settings = [&ROUTER[..], &NO_REDIRECTS].concat();
    let space = wiring.add_namespace(format!("agent-{}", node.number()), &settings);
    let near = CableEnd::new(node.space, agent_port(node)).attached_to(BRIDGE);
    let far = CableEnd::new(space, UPLINK).with_mac(slot.mac());
    wiring
        .device_pairs
        .push(DevicePair { mtu: Some(underlay.link.mtu()), ..DevicePair::new(near, far) });
    wiring.add_address(space, UPLINK, slot);
    let gateway = LabSubnet::docker(node.number()).slot(1);
    wiring.routes.push(IpRoute::default_via(space, gateway.address(wiring.family)));
    wiring.add_neighbour(space, UPLINK, gateway);
    wiring.add_neighbour(node.space, BRIDGE, slot);
    space
}

/// Routes a container's traffic to the other nodes' containers through its node's agent.
fn route_through_agent(
    wiring: &mut Wiring,
    underlay: &Underlay,
    agents: &[NamespaceId],
    pod: &NodeContainer,
) {
    let node = underlay.nodes[pod.node];
    let agent = agent_slot(node);
    for other in underlay.nodes.iter().filter(|other| **other != node) {
        let network = LabSubnet::docker(other.number()).slot(0).address(wiring.family);
        let to = RouteDestination::Net(network, prefix_length(wiring.family));
        let via = Some(agent.address(wiring.family));
        wiring.routes.push(IpRoute { via, ..IpRoute::to(pod.space, to) });
    }
    wiring.add_neighbour(pod.space, UPLINK, agent);
    wiring.add_neighbour(agents[pod.node], UPLINK, pod.slot);
}

/// Adds routes between nodes to each other's agents, but to no other containers.
fn route_to_agents(wiring: &mut Wiring, underlay: &Underlay) {
    const HOST: u8 = 32;
    for (one, other) in underlay.pairs() {
        let to = RouteDestination::Net(agent_slot(other).address(wiring.family), HOST);
        let via = Some(other.slot(0).address(wiring.family));
        wiring.routes.push(IpRoute { via, ..IpRoute::to(one.space, to) });
    }
}

/// Returns the path from a container through its node's agent and back to the node.
fn to_underlay(
    wiring: &Wiring,
    underlay: &Underlay,
    agents: &[NamespaceId],
    esp: EspMode,
    pod: &NodeContainer,
) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node];
    let agent = agents[pod.node];
    let port = || Waypoint::device(HopKind::Veth, node.space, agent_port(node));
    let sealed = match esp {
        EspMode::Userspace => Waypoint::device(HopKind::Forwarder, agent, DEVICE),
        EspMode::Kernel => {
            let hop = Hop::new(HopKind::Encapsulation, "xfrm", wiring.name(agent));
            Waypoint::Other(hop.with_detail("ESP in UDP, in tunnel mode, AES-GCM, by the kernel"))
        }
    };
    let mut path = node_containers::path_to_bridge(underlay, pod);
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
