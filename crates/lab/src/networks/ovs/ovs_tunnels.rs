//! Layout shared by `ovs-vxlan`, `ovs-bridge-vxlan` and their variants by the daemon: Open vSwitch on every node, its
//! bridges joined by VXLAN tunnels.
//!
//! The containers of all nodes are on one network. Each node has a tunnel to each other node. Frames from a tunnel are
//! not forwarded to another tunnel, because the full mesh would be a loop. The kernel's datapath sends through the
//! node's uplink, as any tunnel does. The daemon's datapath sends through a second bridge: the uplink is a port of it,
//! and it has the node's address.

use crate::networks::ovs::openvswitch::{OvsBridgeSpec, OvsDatapath, OvsPort, UPLINKS};
use crate::networks::ovs::{OvsAttachment, OvsContainer, openvswitch, plug_in};
use crate::networks::{LabNetworkDefinition, nftables_requirements, ovs};
use crate::plan::address::{LabSubnet, prefix_length};
use crate::plan::backbone::{Backbone, NETWORK_ID};
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::node_containers::{NodeContainer, NodeContainers};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, LabNode, UPLINK};
use crate::plan::underlay::{MOST_NODES, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::{Ruleset, Wiring};
use crate::programs::Program;
use std::ops::RangeInclusive;
use tare_network::{
    COPIES_CHAIN, Error, Family, Hop, HopKind, NetworkInfo, NetworkParameters, Requirement, Shape,
};

/// Device with which the kernel's datapath sends and receives the packets of its VXLAN tunnels.
const KERNEL_TUNNEL: &str = "vxlan_sys_4789";

/// Headers of VXLAN on the underlay, bytes.
const HEADERS: u32 = Backbone::Vxlan { device: KERNEL_TUNNEL }.headers();

/// Network of Open vSwitch bridges, joined by VXLAN tunnels.
pub(crate) struct OvsTunnelNetwork {
    pub(crate) about: NetworkInfo,
    pub(crate) datapath: OvsDatapath,
    pub(crate) attachment: OvsAttachment,
}

impl LabNetworkDefinition for OvsTunnelNetwork {
    fn info(&self) -> NetworkInfo {
        self.about.clone()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = ovs::ovs_requirements(self.datapath);
        needs.push(Requirement::Nodes(2));
        match self.datapath {
            OvsDatapath::Kernel => needs.push(Requirement::Kernel { module: "vxlan" }),
            OvsDatapath::Userspace => {
                needs.push(Requirement::Program { name: "ip", package: "iproute2" });
                needs.push(Requirement::Program {
                    name: "ovs-appctl",
                    package: "openvswitch-switch",
                });
                needs.extend(nftables_requirements(&[]));
            }
        }
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let (name, datapath) = (self.about.name, self.datapath);
        check_nodes(name, 2, shape)?;
        let mut wiring = Wiring::new(shape.family, inner_mtu(shape, &parse_link(shape)?, HEADERS));
        let underlay = Underlay::add(&mut wiring, shape, &BRIDGED_PAST_NETFILTER)?;
        underlay.add_ipv4(&mut wiring);
        let mut plugged: Vec<OvsContainer> = Vec::new();
        let pods = NodeContainers::place(shape, |at, name, suffix| {
            let node = underlay.nodes[at].space;
            let number = u16::try_from(plugged.len()).unwrap_or(u16::MAX - 2);
            let slot = LabSubnet::OVERLAY.slot(2 + number);
            let space = wiring.add_namespace(name, &[]);
            let rate = site.options.rate;
            let one = plug_in(&mut wiring, node, space, slot, &suffix, self.attachment, rate);
            let port = one.devices.last().map(|(_, name)| name.clone()).unwrap_or_default();
            plugged.push(one);
            NodeContainer { node: at, space, slot, port }
        });
        for (client, server) in pods.pairs(shape) {
            wiring.add_neighbour(client.space, UPLINK, server.slot);
            wiring.add_neighbour(server.space, UPLINK, client.slot);
        }
        for (at, node) in underlay.nodes.iter().enumerate() {
            add_switch(
                &mut wiring,
                &underlay,
                *node,
                datapath,
                pods.all().filter(|pod| pod.node == at),
            );
        }
        if datapath == OvsDatapath::Userspace {
            wiring.without_tx_offload.extend(pods.all().map(|pod| (pod.space, UPLINK.to_owned())));
        }
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let [near, far] = [client.node, server.node].map(|at| underlay.nodes[at]);
        for (one, other) in [(near, far), (far, near)] {
            openvswitch::add_bridge_counter(&mut wiring, one.space);
            openvswitch::add_port_counter(&mut wiring, one.space, &tunnel_name(other));
        }
        let to_underlay = |pod: &NodeContainer, other: LabNode| {
            let node = underlay.nodes[pod.node];
            let mine = plugged.iter().find(|one| one.space == pod.space);
            let mut path = mine.map(|one| one.to_switch(node.space)).unwrap_or_default();
            path.extend(from_switch(&wiring, node, other, datapath));
            path
        };
        let mut path = to_underlay(client, far);
        path.extend(underlay.path(client.node, server.node));
        path.extend(to_underlay(server, near).into_iter().rev());
        let mut layout = pods.layout(wiring, path, shape, site);
        layout.proof = (datapath == OvsDatapath::Kernel)
            .then(|| PathProof::Device { space: near.space, name: KERNEL_TUNNEL.to_owned() });
        Ok(layout)
    }
}

/// Returns the name of the tunnel to a node.
fn tunnel_name(to: LabNode) -> String {
    format!("vxlan-n{}", to.number())
}

/// Adds Open vSwitch on a node, with its containers and a tunnel to each other node.
fn add_switch<'a>(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: LabNode,
    datapath: OvsDatapath,
    pods: impl Iterator<Item = &'a NodeContainer>,
) {
    let others = || underlay.nodes.iter().copied().filter(move |other| *other != node);
    let mut ports: Vec<OvsPort> = pods.map(|pod| OvsPort::device(pod.port.as_str())).collect();
    ports.extend(others().map(|other| {
        let columns = [
            "type=vxlan".to_owned(),
            format!("options:remote_ip={}", other.ipv4()),
            format!("options:key={NETWORK_ID}"),
        ];
        OvsPort::tunnel(tunnel_name(other), columns.to_vec())
    }));
    let containers = OvsBridgeSpec::for_containers(ports);
    match datapath {
        OvsDatapath::Kernel => openvswitch::add(wiring, node.space, datapath, &[containers]),
        OvsDatapath::Userspace => {
            let mac = Some(node.slot(0).mac());
            let uplinks =
                OvsBridgeSpec { name: UPLINKS, mac, ports: vec![OvsPort::device(UPLINK)] };
            openvswitch::add(wiring, node.space, datapath, &[uplinks, containers]);
            move_uplink_address(wiring, node);
            others().for_each(|other| add_tunnel_neighbour(wiring, node, other));
            forget_learned_addresses(wiring, node);
        }
    }
}

/// Moves a node's addresses from its uplink to the bridge of which the uplink is a port.
///
/// The kernel receives the uplink's packets as well as the daemon, and must not answer them (Open vSwitch's
/// documentation, "Open vSwitch without Kernel Support"). The rule drops copies: nothing is lost.
fn move_uplink_address(wiring: &mut Wiring, node: LabNode) {
    let text = format!(
        "table inet openvswitch {{
  chain {COPIES_CHAIN} {{
    type filter hook prerouting priority raw;
    iifname \"{UPLINK}\" counter drop
  }}
}}
"
    );
    wiring.rules.push(Ruleset { space: node.space, text });
    let step = |line: &str| Program::step(node.space, "ip", line.split(' '));
    let mut steps = vec![step(&format!("link set {UPLINKS} up")).with_name("ip-up")];
    for family in [Family::Ipv4, Family::Ipv6] {
        let address = node.slot(0).address(family);
        if !wiring.addresses.iter().any(|one| one.space == node.space && one.address == address) {
            continue;
        }
        let address = format!("{address}/{}", prefix_length(family));
        let nodad = if family == Family::Ipv6 { " nodad" } else { "" };
        let name = |what| format!("ip-{what}-{family}");
        steps.extend([
            step(&format!("address del {address} dev {UPLINK}")).with_name(name("del")),
            step(&format!("address add {address} dev {UPLINKS}{nodad}")).with_name(name("add")),
        ]);
    }
    wiring.programs.append(&mut steps);
}

/// Adds another node's link-layer address to a node's daemon. Otherwise the daemon resolves it as the kernel would, and
/// loses a packet while it does.
fn add_tunnel_neighbour(wiring: &mut Wiring, node: LabNode, other: LabNode) {
    let control = openvswitch::control_socket(wiring, node.space);
    let (address, mac) = (other.ipv4().to_string(), other.slot(0).mac().to_string());
    let words = ["-t", &control, "tnl/neigh/set", UPLINKS, &address, &mac];
    let step = Program::step(node.space, "ovs-appctl", words);
    wiring.programs.push(step.with_name(format!("ovs-appctl-neigh-{}", other.number())));
}

/// Removes the addresses that the uplink's bridge has learned.
///
/// Until the node's address is on the bridge, the daemon takes the uplink for the device with that address. If a
/// container sends a frame then (its kernel joins multicast groups at any time), the daemon asks for the other node's
/// link-layer address as if the question had come in by the uplink, and the bridge learns the node's own address there.
/// From then on it drops what the other nodes send: a bridge never forwards a frame to the port that it came from. The
/// daemon has read the new routes when this step runs: it reads them after each command, and the commands that set
/// neighbours come before.
fn forget_learned_addresses(wiring: &mut Wiring, node: LabNode) {
    let control = openvswitch::control_socket(wiring, node.space);
    let step = Program::step(node.space, "ovs-appctl", ["-t", &control, "fdb/flush", UPLINKS]);
    wiring.programs.push(step.with_name("ovs-appctl-flush"));
}

/// Returns the path from Open vSwitch of a node to its uplink, towards another node.
fn from_switch(
    wiring: &Wiring,
    node: LabNode,
    other: LabNode,
    datapath: OvsDatapath,
) -> Vec<Waypoint> {
    let place = wiring.name(node.space);
    let mut path = vec![openvswitch::waypoint(place, datapath)];
    match datapath {
        OvsDatapath::Kernel => {
            path.push(Waypoint::device(HopKind::Encapsulation, node.space, KERNEL_TUNNEL));
        }
        OvsDatapath::Userspace => {
            let hop = |kind, name, detail| {
                Waypoint::Other(Hop::new(kind, name, place).with_detail(detail))
            };
            path.push(hop(HopKind::Encapsulation, tunnel_name(other), "VXLAN, by ovs-vswitchd"));
            path.push(hop(HopKind::Forwarder, UPLINKS.to_owned(), "the bridge of the uplink"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::ovs::ovs_user_vxlan;

    #[test]
    fn learned_addresses_are_forgotten_once_the_daemon_knows_its_routes() {
        let shape = Shape { nodes: 2, ..Shape::default() };
        let site = NetworkParameters { ports: vec![7001], ..NetworkParameters::default() };
        let wiring = ovs_user_vxlan::NETWORK.layout(&shape, &site).unwrap().wiring;
        for node in ["node-0", "node-1"] {
            let programs = wiring.programs.iter().filter(|one| wiring.name(one.space) == node);
            let names: Vec<&str> = programs.map(|one| one.name.as_str()).collect();
            let other = if node == "node-0" { 1 } else { 0 };
            let neighbour = format!("ovs-appctl-neigh-{other}");
            let last = ["ip-del-ipv4", "ip-add-ipv4", &neighbour, "ovs-appctl-flush"];
            assert!(names.ends_with(&last), "{node}: {names:?}");
        }
    }
}
