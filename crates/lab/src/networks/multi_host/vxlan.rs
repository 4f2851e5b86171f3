//! `vxlan`: one network over all nodes by kernel VXLAN, wired as a Docker Swarm overlay network.
//!
//! On each node, a separate namespace has a bridge with the containers, and a VXLAN device whose packets leave by the
//! node's uplink. Neither addresses nor neighbours are learnt: every node has forwarding and neighbour entries for the
//! containers of all other nodes, and the VXLAN device answers ARP requests for them.

use crate::networks::multi_host::tunnels::encapsulation_proof;
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::address::LabSubnet;
use crate::plan::backbone::{Backbone, vxlan_port};
use crate::plan::layout::{Layout, Waypoint};
use crate::plan::node_containers::{NodeContainer, NodeContainers};
use crate::plan::nodes::UPLINK;
use crate::plan::underlay::{MOST_NODES, ROUTER, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::{
    DevicePair, DevicePairEnd, NamespaceId, Neighbour, VxlanFdbEntry, Wiring,
};
use std::ops::RangeInclusive;
use tare_network::{
    Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};

/// Names that libnetwork uses.
const BRIDGE: &str = "br0";
const DEVICE: &str = "vxlan0";

pub(crate) struct VxlanNetwork;

impl LabNetworkDefinition for VxlanNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "vxlan",
            summary: "one network over all nodes by kernel VXLAN, a bridge on each",
            stands_for: "a Docker Swarm overlay network, wired as libnetwork does",
            source: "moby, libnetwork/drivers/overlay; RFC 7348",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        vxlan_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        Ok(add_overlay("vxlan", HEADERS, shape, site)?.layout)
    }
}

/// Headers of VXLAN on the underlay, bytes.
pub(crate) const HEADERS: u32 = Backbone::Vxlan { device: DEVICE }.headers();

pub(crate) fn vxlan_requirements() -> Vec<Requirement> {
    let mut needs = veth_and_bridge_requirements();
    needs.extend([Requirement::Nodes(2), Requirement::Kernel { module: "vxlan" }]);
    needs
}

/// Layout of the network, and the underlay of its nodes.
pub(crate) struct VxlanOverlay {
    pub(crate) layout: Layout,
    pub(crate) underlay: Underlay,
}

/// Lays out one network over all nodes; `headers` is the length of its headers on the underlay, bytes.
pub(crate) fn add_overlay(
    name: &str,
    headers: u32,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<VxlanOverlay, Error> {
    check_nodes(name, 2, shape)?;
    let inside = inner_mtu(shape, &parse_link(shape)?, headers);
    let mut wiring = Wiring::new(shape.family, inside);
    let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
    underlay.add_ipv4(&mut wiring);
    let switches = add_overlay_namespaces(&mut wiring, &underlay);
    let pods = add_containers(&mut wiring, &switches, shape, site);
    for pod in pods.all() {
        add_remote_entries(&mut wiring, &underlay, &switches, pod);
    }
    for (client, server) in pods.pairs(shape) {
        wiring.add_neighbour(client.space, UPLINK, server.slot);
        wiring.add_neighbour(server.space, UPLINK, client.slot);
    }
    let path = path(&underlay, &switches, &pods);
    let mut layout = pods.layout(wiring, path, shape, site);
    layout.proof = encapsulation_proof(&layout);
    Ok(VxlanOverlay { layout, underlay })
}

/// Adds a namespace with a bridge and a VXLAN device on each node.
fn add_overlay_namespaces(wiring: &mut Wiring, underlay: &Underlay) -> Vec<NamespaceId> {
    let add = |node: &crate::plan::nodes::LabNode| {
        let space = wiring.add_namespace(format!("overlay-{}", node.number()), &[]);
        wiring.add_bridge(space, BRIDGE, None);
        wiring.child_devices.push(vxlan_port(*node, space, DEVICE, BRIDGE));
        space
    };
    underlay.nodes.iter().map(add).collect()
}

/// Adds the containers, each on its node's bridge, all in one subnet.
fn add_containers(
    wiring: &mut Wiring,
    switches: &[NamespaceId],
    shape: &Shape,
    site: &NetworkParameters,
) -> NodeContainers {
    let mut plugged = 0;
    NodeContainers::place(shape, |node, name, port| {
        let slot = LabSubnet::OVERLAY.slot(2 + plugged);
        plugged += 1;
        let space = wiring.add_namespace(name, &[]);
        let port = format!("veth-{port}");
        let near = DevicePairEnd::new(switches[node], port.as_str()).attached_to(BRIDGE);
        let far = DevicePairEnd::new(space, UPLINK).with_mac(slot.mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(site.options.rate));
        wiring.add_address(space, UPLINK, slot);
        NodeContainer { node, space, slot, port }
    })
}

/// Adds a container's forwarding and neighbour entry on every other node.
fn add_remote_entries(
    wiring: &mut Wiring,
    underlay: &Underlay,
    switches: &[NamespaceId],
    pod: &NodeContainer,
) {
    let remote = underlay.nodes[pod.node].ipv4();
    for (_, &space) in switches.iter().enumerate().filter(|(at, _)| *at != pod.node) {
        let (device, mac) = (DEVICE.to_owned(), pod.slot.mac());
        wiring.vxlan_fdb_entries.push(VxlanFdbEntry { space, device: device.clone(), mac, remote });
        let address = pod.slot.address(wiring.family);
        wiring.neighbours.push(Neighbour { space, device, address, mac });
    }
}

fn path(underlay: &Underlay, switches: &[NamespaceId], pods: &NodeContainers) -> Vec<Waypoint> {
    let (client, server) = (&pods.clients[0], &pods.servers[0]);
    let side = |pod: &NodeContainer| {
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
