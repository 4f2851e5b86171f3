//! `vxlan`: one network over all nodes by kernel VXLAN, as a Docker Swarm overlay wires it.
//!
//! On each node a namespace of its own has a bridge with the containers and a VXLAN device whose packets leave by the
//! node's uplink. Nothing is learnt and nobody is asked: every node is told behind which other each container is, and
//! the VXLAN device answers for them.

use super::tunnels::encapsulated;
use super::{Recipe, wired};
use crate::address::Subnet;
use crate::backbone::{Backbone, vxlan_port};
use crate::layout::{Layout, Waypoint};
use crate::nodes::UPLINK;
use crate::pods::{Pod, Pods};
use crate::underlay::{MOST_NODES, ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{Cable, End, Forwarding, Neighbour, SpaceId, Wiring};
use std::ops::RangeInclusive;
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

/// As libnetwork calls them.
const BRIDGE: &str = "br0";
const DEVICE: &str = "vxlan0";

pub(super) struct Vxlan;

impl Recipe for Vxlan {
    fn about(&self) -> About {
        About {
            name: "vxlan",
            summary: "one network over all nodes by kernel VXLAN, a bridge on each",
            stands_for: "a Docker Swarm overlay network, wired as libnetwork does",
            source: "moby, libnetwork/drivers/overlay; RFC 7348",
            options: &NetworkOption::CABLED,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        vxlan_needs()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        Ok(overlay("vxlan", HEADERS, shape, site)?.layout)
    }
}

/// What VXLAN takes of a packet on the underlay, bytes.
pub(super) const HEADERS: u32 = Backbone::Vxlan { device: DEVICE }.headers();

pub(super) fn vxlan_needs() -> Vec<Need> {
    let mut needs = wired();
    needs.extend([Need::Nodes(2), Need::Kernel { module: "vxlan" }]);
    needs
}

/// The network, and the nodes under it.
pub(super) struct Overlay {
    pub(super) layout: Layout,
    pub(super) underlay: Underlay,
}

/// One network over all nodes; `headers` is what of a packet on the underlay is not the containers', bytes.
pub(super) fn overlay(
    name: &str,
    headers: u32,
    shape: &Shape,
    site: &Site,
) -> Result<Overlay, Error> {
    joins(name, 2, shape)?;
    let inside = mtu_inside(shape, &link_of(shape)?, headers);
    let mut wiring = Wiring::new(shape.family, inside);
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    underlay.speak_ipv4(&mut wiring);
    let switches = switches(&mut wiring, &underlay);
    let pods = plugged_in(&mut wiring, &switches, shape, site);
    for pod in pods.all() {
        tell(&mut wiring, &underlay, &switches, pod);
    }
    for (client, server) in pods.pairs(shape) {
        wiring.neighbour(client.space, UPLINK, server.slot);
        wiring.neighbour(server.space, UPLINK, client.slot);
    }
    let path = path(&underlay, &switches, &pods);
    let mut layout = pods.layout(wiring, path, shape, site);
    layout.proof = encapsulated(&layout);
    Ok(Overlay { layout, underlay })
}

/// On each node a namespace with a bridge and a VXLAN device.
fn switches(wiring: &mut Wiring, underlay: &Underlay) -> Vec<SpaceId> {
    let add = |node: &crate::nodes::Node| {
        let space = wiring.space(format!("overlay-{}", node.number()), &[]);
        wiring.bridge(space, BRIDGE, None);
        wiring.links.push(vxlan_port(*node, space, DEVICE, BRIDGE));
        space
    };
    underlay.nodes.iter().map(add).collect()
}

/// The containers, each on its node's bridge, all in one network.
fn plugged_in(wiring: &mut Wiring, switches: &[SpaceId], shape: &Shape, site: &Site) -> Pods {
    let mut plugged = 0;
    Pods::spread(shape, |node, name, port| {
        let slot = Subnet::OVERLAY.slot(2 + plugged);
        plugged += 1;
        let space = wiring.space(name, &[]);
        let port = format!("veth-{port}");
        let near = End::new(switches[node], port.as_str()).plugged_into(BRIDGE);
        let far = End::new(space, UPLINK).with_mac(slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(site.options.rate));
        wiring.address(space, UPLINK, slot);
        Pod { node, space, slot, port }
    })
}

/// Tells every other node where a container is.
fn tell(wiring: &mut Wiring, underlay: &Underlay, switches: &[SpaceId], pod: &Pod) {
    let remote = underlay.nodes[pod.node].ipv4();
    for (_, &space) in switches.iter().enumerate().filter(|(at, _)| *at != pod.node) {
        let (device, mac) = (DEVICE.to_owned(), pod.slot.mac());
        wiring.forwarding.push(Forwarding { space, device: device.clone(), mac, remote });
        let address = pod.slot.address(wiring.family);
        wiring.neighbours.push(Neighbour { space, device, address, mac });
    }
}

fn path(underlay: &Underlay, switches: &[SpaceId], pods: &Pods) -> Vec<Waypoint> {
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    let side = |pod: &Pod| {
        let switch = switches[pod.node];
        vec![
            Waypoint::device(HopKind::Veth, pod.space, UPLINK),
            Waypoint::device(HopKind::Veth, switch, pod.port.as_str()),
            Waypoint::device(HopKind::Bridge, switch, BRIDGE),
            Waypoint::device(HopKind::Encapsulation, switch, DEVICE),
        ]
    };
    let mut path = side(client);
    path.extend(underlay.path(client.node, server.node));
    path.extend(side(server).into_iter().rev());
    path
}
