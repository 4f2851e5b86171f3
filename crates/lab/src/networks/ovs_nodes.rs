//! Open vSwitch on every node, its bridges joined by VXLAN tunnels: what `ovs-vxlan`, `ovs-user-vxlan` and
//! `ovs-bridge-vxlan` have in common.
//!
//! Containers of all nodes are on one network. Each node has a tunnel to each other; what comes by one leaves by none,
//! for all of them together would be a loop. The kernel's datapath sends by the node's uplink as any tunnel does. The
//! daemon's own datapath sends by a bridge of its own: the uplink is a port of it, and the node's address is on it.

use super::ovs::{Between, Plugged, plug_in};
use super::{Recipe, filtered, ovs, ovs_bridge};
use crate::address::{Subnet, prefix_length};
use crate::backbone::{Backbone, NETWORK_ID};
use crate::lab::Lab;
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{BRIDGED_PAST_NETFILTER, Node, UPLINK};
use crate::openvswitch::{self, Bridge, Datapath, Port, UPLINKS};
use crate::pods::{Pod, Pods};
use crate::programs::Program;
use crate::underlay::{MOST_NODES, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{Rules, Wiring};
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{About, Error, Family, Hop, HopKind, Need, Shape, Site};

/// The device by which the kernel's datapath takes and gives what its VXLAN tunnels carry.
const KERNELS: &str = "vxlan_sys_4789";

/// What VXLAN takes of a packet on the underlay, bytes.
const HEADERS: u32 = Backbone::Vxlan { device: KERNELS }.headers();

/// Who forwards.
#[derive(Clone, Copy)]
pub(super) enum Forwards {
    /// This one.
    By(Datapath),
    /// The kernel where it can, else the daemon.
    ByWhatThereIs,
}

/// A network of Open vSwitches.
pub(super) struct OvsNodes {
    pub(super) about: About,
    pub(super) forwards: Forwards,
    pub(super) between: Between,
    pub(super) lab: Option<Arc<Lab>>,
}

impl OvsNodes {
    fn datapath(&self) -> Datapath {
        match self.forwards {
            Forwards::By(datapath) => datapath,
            Forwards::ByWhatThereIs => ovs_bridge::datapath(self.lab.as_ref()),
        }
    }
}

impl Recipe for OvsNodes {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = ovs::needs(self.datapath());
        needs.push(Need::Nodes(2));
        match self.datapath() {
            Datapath::Kernel => needs.push(Need::Kernel { module: "vxlan" }),
            Datapath::Userspace => {
                needs.push(Need::Program { name: "ip", package: "iproute2" });
                needs.push(Need::Program { name: "ovs-appctl", package: "openvswitch-switch" });
                needs.extend(filtered(&[]));
            }
        }
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let (name, datapath) = (self.about.name, self.datapath());
        joins(name, 2, shape)?;
        let mut wiring = Wiring::new(shape.family, mtu_inside(shape, &link_of(shape)?, HEADERS));
        let underlay = Underlay::add(&mut wiring, shape, &BRIDGED_PAST_NETFILTER)?;
        underlay.speak_ipv4(&mut wiring);
        let mut plugged: Vec<Plugged> = Vec::new();
        let pods = Pods::spread(shape, |at, name, suffix| {
            let node = underlay.nodes[at].space;
            let number = u16::try_from(plugged.len()).unwrap_or(u16::MAX - 2);
            let slot = Subnet::OVERLAY.slot(2 + number);
            let space = wiring.space(name, &[]);
            let rate = site.options.rate;
            let one = plug_in(&mut wiring, node, space, slot, &suffix, self.between, rate);
            let port = one.devices.last().map(|(_, name)| name.clone()).unwrap_or_default();
            plugged.push(one);
            Pod { node: at, space, slot, port }
        });
        for (client, server) in pods.pairs(shape) {
            wiring.neighbour(client.space, UPLINK, server.slot);
            wiring.neighbour(server.space, UPLINK, client.slot);
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
        if datapath == Datapath::Userspace {
            wiring.whole.extend(pods.all().map(|pod| (pod.space, UPLINK.to_owned())));
        }
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let [near, far] = [client.node, server.node].map(|at| underlay.nodes[at]);
        for (one, other) in [(near, far), (far, near)] {
            openvswitch::count(&mut wiring, one.space);
            openvswitch::count_port(&mut wiring, one.space, &tunnel(other));
        }
        let to_underlay = |pod: &Pod, other: Node| {
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
        layout.proof = (datapath == Datapath::Kernel)
            .then(|| Proof::Device { space: near.space, name: KERNELS.to_owned() });
        Ok(layout)
    }
}

/// The tunnel to a node.
fn tunnel(to: Node) -> String {
    format!("vxlan-n{}", to.number())
}

/// Open vSwitch on a node: its containers, and a tunnel to each other node.
fn add_switch<'a>(
    wiring: &mut Wiring,
    underlay: &Underlay,
    node: Node,
    datapath: Datapath,
    pods: impl Iterator<Item = &'a Pod>,
) {
    let others = || underlay.nodes.iter().copied().filter(move |other| *other != node);
    let mut ports: Vec<Port> = pods.map(|pod| Port::device(pod.port.as_str())).collect();
    ports.extend(others().map(|other| {
        let columns = [
            "type=vxlan".to_owned(),
            format!("options:remote_ip={}", other.ipv4()),
            format!("options:key={NETWORK_ID}"),
        ];
        Port::tunnel(tunnel(other), columns.to_vec())
    }));
    let containers = Bridge::of_containers(ports);
    match datapath {
        Datapath::Kernel => openvswitch::add(wiring, node.space, datapath, &[containers]),
        Datapath::Userspace => {
            let mac = Some(node.slot(0).mac());
            let uplinks = Bridge { name: UPLINKS, mac, ports: vec![Port::device(UPLINK)] };
            openvswitch::add(wiring, node.space, datapath, &[uplinks, containers]);
            take_uplink(wiring, node);
            others().for_each(|other| introduce(wiring, node, other));
        }
    }
}

/// Moves a node's addresses from its uplink to the bridge that has it.
///
/// The kernel still gets what comes in by the uplink, as the daemon does, and must not answer it (Open vSwitch's
/// documentation, "Open vSwitch without Kernel Support"). Nobody counts what it drops: nothing is lost.
fn take_uplink(wiring: &mut Wiring, node: Node) {
    let text = format!(
        "table inet openvswitch {{
  chain prerouting {{
    type filter hook prerouting priority raw;
    iifname \"{UPLINK}\" drop
  }}
}}
"
    );
    wiring.rules.push(Rules { space: node.space, text });
    let step = |line: &str| Program::step(node.space, "ip", line.split(' '));
    let mut steps = vec![step(&format!("link set {UPLINKS} up")).named("ip-up")];
    for family in [Family::Ipv4, Family::Ipv6] {
        let address = node.slot(0).address(family);
        if !wiring.addresses.iter().any(|one| one.space == node.space && one.address == address) {
            continue;
        }
        let address = format!("{address}/{}", prefix_length(family));
        let nodad = if family == Family::Ipv6 { " nodad" } else { "" };
        let name = |what| format!("ip-{what}-{family}");
        steps.extend([
            step(&format!("address del {address} dev {UPLINK}")).named(name("del")),
            step(&format!("address add {address} dev {UPLINKS}{nodad}")).named(name("add")),
        ]);
    }
    wiring.programs.append(&mut steps);
}

/// Lets a node's daemon know where another node is: it asks as the kernel would, and a packet is lost meanwhile.
fn introduce(wiring: &mut Wiring, node: Node, other: Node) {
    let control = openvswitch::control(wiring, node.space);
    let (address, mac) = (other.ipv4().to_string(), other.slot(0).mac().to_string());
    let words = ["-t", &control, "tnl/neigh/set", UPLINKS, &address, &mac];
    let step = Program::step(node.space, "ovs-appctl", words);
    wiring.programs.push(step.named(format!("ovs-appctl-neigh-{}", other.number())));
}

/// From Open vSwitch of a node to its uplink, on the way to another node.
fn from_switch(wiring: &Wiring, node: Node, other: Node, datapath: Datapath) -> Vec<Waypoint> {
    let place = wiring.name(node.space);
    let mut path = vec![openvswitch::waypoint(place, datapath)];
    match datapath {
        Datapath::Kernel => {
            path.push(Waypoint::device(HopKind::Encapsulation, node.space, KERNELS));
        }
        Datapath::Userspace => {
            let hop = |kind, name, detail| {
                Waypoint::Other(Hop::new(kind, name, place).with_detail(detail))
            };
            path.push(hop(HopKind::Encapsulation, tunnel(other), "VXLAN, by ovs-vswitchd"));
            path.push(hop(HopKind::Forwarder, UPLINKS.to_owned(), "the bridge of the uplink"));
        }
    }
    path
}
