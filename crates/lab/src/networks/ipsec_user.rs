//! `ipsec-user`: containers of two nodes and more through IPsec in userspace, each end of a tunnel in an agent container.
//!
//! As Rancher 1.x did: on each node an agent container runs strongSwan, containers reach those of other nodes through it,
//! and it seals what they send. Here its `kernel-libipsec` does that in userspace, on a TUN device, in UDP.

use super::{Recipe, Secrecy, wired};
use crate::address::{Slot, Subnet, prefix_length};
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{Node, UPLINK};
use crate::pods::{self, BRIDGE, Pod};
use crate::strongswan::{self, DEVICE, End};
use crate::underlay::{MOST_NODES, ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{Cable, Destination, End as CableEnd, Route, SpaceId, Wiring};
use std::ops::RangeInclusive;
use tare_network::{About, Error, Family, HopKind, MtuBy, Need, NetworkOption, Shape, Site};

/// What of a packet on the underlay is not the containers', bytes: IPv4, UDP, ESP with AES-GCM and its padding, and room.
const HEADERS: u32 = 100;

/// The MTU of strongSwan's TUN device, bytes, whatever the links carry (`TUN_DEFAULT_MTU`).
const TUN_MTU: u32 = 1400;

/// The number of the agent's interface on its node's bridge.
const AGENT: u16 = 65_000;

pub(super) struct IpsecUser;

impl Recipe for IpsecUser {
    fn about(&self) -> About {
        About {
            name: "ipsec-user",
            summary: "IPsec tunnels between agent containers, sealed in userspace by strongSwan",
            stands_for: "Rancher 1.x's network: a real strongSwan in an agent container on each node",
            source: "strongSwan, plugins/kernel-libipsec; rancher/rancher-net",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = wired();
        needs.push(Need::Nodes(2));
        needs.extend(strongswan::needs());
        needs
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Encrypted
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        joins("ipsec-user", 2, shape)?;
        if shape.family == Family::Ipv6 {
            let why = "the agents' tunnels are for IPv4, as Rancher's were";
            return Err(Error::new("lay out ipsec-user", why).with_remedy("use --family ipv4"));
        }
        let mut wiring = Wiring::new(shape.family, inside(shape)?);
        let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
        let pods = pods::on_bridges(&mut wiring, &underlay, shape, site);
        let agents: Vec<SpaceId> =
            underlay.nodes.iter().map(|&node| add_agent(&mut wiring, node)).collect();
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
        strongswan::join(&mut wiring, &ends)?;
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let mut path = to_underlay(&underlay, &agents, client);
        path.extend(underlay.path(client.node, server.node));
        path.extend(to_underlay(&underlay, &agents, server).into_iter().rev());
        let agent = agents[client.node];
        let mut layout = pods.layout(wiring, path, shape, site);
        layout.proof = Some(Proof::Device { space: agent, name: DEVICE.to_owned() });
        Ok(layout)
    }
}

/// The MTU of containers: what fits the TUN device too, or what the user has named.
fn inside(shape: &Shape) -> Result<u32, Error> {
    let fits = mtu_inside(shape, &link_of(shape)?, HEADERS);
    Ok(match shape.mtu_by {
        MtuBy::Network => fits.min(TUN_MTU),
        MtuBy::User => fits,
    })
}

fn agent_slot(node: Node) -> Slot {
    Subnet::docker(node.number()).slot(AGENT)
}

fn agent_port(node: Node) -> String {
    format!("veth-a{}", node.number())
}

/// A node's agent: a container on its bridge that sends packets on.
fn add_agent(wiring: &mut Wiring, node: Node) -> SpaceId {
    let slot = agent_slot(node);
    let space = wiring.space(format!("agent-{}", node.number()), &ROUTER);
    let near = CableEnd::new(node.space, agent_port(node)).plugged_into(BRIDGE);
    let far = CableEnd::new(space, UPLINK).with_mac(slot.mac());
    wiring.cables.push(Cable::new(near, far));
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
fn to_underlay(underlay: &Underlay, agents: &[SpaceId], pod: &Pod) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node];
    let agent = agents[pod.node];
    let port = || Waypoint::device(HopKind::Veth, node.space, agent_port(node));
    let mut path = pods::to_bridge(underlay, pod);
    path.extend([
        port(),
        Waypoint::device(HopKind::Veth, agent, UPLINK),
        Waypoint::device(HopKind::Forwarder, agent, DEVICE),
        Waypoint::device(HopKind::Veth, agent, UPLINK),
        port(),
        Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
    ]);
    path
}
