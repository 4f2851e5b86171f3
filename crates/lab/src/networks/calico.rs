//! `calico`, and the same with tunnels between nodes: no bridge; every container has a route of its own on its node.
//!
//! A container has a /32 (/128) address and one gateway, 169.254.1.1, that is nobody's: its node answers for it by proxy
//! ARP. Nodes route each container to its device, drop what is for their block and for none of their containers, and
//! reach the other nodes' blocks plainly, by VXLAN or by IP-in-IP. Felix's chains stand between.

use super::tunnels::encapsulated;
use super::{Recipe, filtered};
use crate::address::{Mac, Subnet, host_prefix, prefix_length};
use crate::backbone::Backbone;
use crate::bgp;
use crate::felix::{self, FROM_WORKLOADS, PREFIX};
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{Node, UPLINK};
use crate::pods::{Pod, Pods};
use crate::underlay::{MOST_NODES, ROUTER, Underlay, joins, link_of, mtu_inside};
use crate::wiring::{
    Address, Cable, Destination, End, Neighbour, Route, RouteKind, Rules, Setting, Wiring,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use tare_network::{About, Error, Family, Hop, HopKind, Need, NetworkOption, Shape, Site};

/// A way of Calico's between nodes.
pub(super) struct Calico {
    pub(super) about: About,
    pub(super) backbone: Backbone,
    /// What the kernel must have for it.
    pub(super) module: Option<&'static str>,
}

/// Where the reference is.
pub(super) const SOURCE: &str =
    "projectcalico/calico: felix/rules, cni-plugin/pkg/dataplane/linux; networking/ipip, vxlan";

/// The network without encapsulation.
pub(super) const NETWORK: Calico = Calico {
    about: About {
        name: "calico",
        summary: "a routed address for every container, Calico's policy chains, routes by BGP (BIRD)",
        stands_for: "Calico's data plane without encapsulation: rules as Felix writes them, a real BIRD on each node",
        source: SOURCE,
        options: &NetworkOption::CABLED,
    },
    backbone: Backbone::Routes,
    module: None,
};

impl Recipe for Calico {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = vec![Need::Nodes(2), Need::Kernel { module: "veth" }];
        needs.push(Need::Kernel { module: "bridge" });
        needs.extend(self.module.map(|module| Need::Kernel { module }));
        if self.backbone == Backbone::Routes {
            needs.push(bgp::need());
        }
        needs.extend(filtered(&["nft_masq", "nft_ct", "nft_fib_ipv4", "nft_fib_ipv6"]));
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let name = self.about.name;
        joins(name, 2, shape)?;
        if self.backbone == Backbone::Ipip && shape.family == Family::Ipv6 {
            let why = "IP-in-IP (RFC 2003) carries IPv4 only";
            return Err(Error::new(format!("lay out {name}"), why)
                .with_remedy("use --family ipv4, or calico-vxlan"));
        }
        let inside = mtu_inside(shape, &link_of(shape)?, self.backbone.headers());
        let mut wiring = Wiring::new(shape.family, inside);
        let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
        let pods = hung_on_nodes(&mut wiring, &underlay, shape, site);
        match self.backbone {
            Backbone::Routes => bgp::add(&mut wiring, &underlay),
            // Felix itself tells the kernel of tunnels.
            backbone => backbone.add(&mut wiring, &underlay),
        }
        for node in &underlay.nodes {
            block(&mut wiring, *node);
        }
        load_rules(&mut wiring, &underlay, &pods);
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let mut path = to_node(&wiring, &underlay, client);
        path.extend(self.backbone.path(&underlay, client.node, server.node));
        path.extend(to_node(&wiring, &underlay, server).into_iter().rev());
        let client_node = underlay.nodes[client.node].space;
        let mut layout = pods.layout(wiring, path, shape, site);
        layout.proof = encapsulated(&layout)
            .or(Some(Proof::Rule { space: client_node, rule: FROM_WORKLOADS }));
        Ok(layout)
    }
}

/// The containers, each by a cable to its node and nothing else.
fn hung_on_nodes(wiring: &mut Wiring, underlay: &Underlay, shape: &Shape, site: &Site) -> Pods {
    let mut hung = vec![0_u16; underlay.nodes.len()];
    Pods::spread(shape, |at, name, port| {
        let node = underlay.nodes[at];
        // The first address of a block is that of the node's tunnel.
        let slot = Subnet::docker(node.number()).slot(1 + hung[at]);
        hung[at] += 1;
        let space = wiring.space(name, &[]);
        let port = format!("{PREFIX}-{port}");
        let near = End::new(node.space, port.as_str()).with_mac(Mac::CALICO);
        let far = End::new(space, UPLINK).with_mac(slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(site.options.rate));
        let pod = Pod { node: at, space, slot, port };
        inside(wiring, &pod);
        outside(wiring, node, &pod);
        pod
    })
}

/// A container's address, and its gateway that is nobody's.
fn inside(wiring: &mut Wiring, pod: &Pod) {
    let (gateway, host) = match wiring.family {
        Family::Ipv4 => (IpAddr::V4(Ipv4Addr::new(169, 254, 1, 1)), 32),
        // The link-local address that follows from the device's link-layer address.
        Family::Ipv6 => {
            let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0xecee, 0xeeff, 0xfeee, 0xeeee);
            (IpAddr::V6(address), 128)
        }
    };
    let (space, device) = (pod.space, UPLINK.to_owned());
    let address = pod.slot.address(wiring.family);
    wiring.addresses.push(Address { space, device: device.clone(), address, prefix: host });
    if wiring.family == Family::Ipv4 {
        wiring.routes.push(Route::by_device(space, Destination::Net(gateway, host), UPLINK));
    }
    let default = Route::default_via(space, gateway);
    wiring.routes.push(Route { device: Some(device.clone()), ..default });
    wiring.neighbours.push(Neighbour { space, device, address: gateway, mac: Mac::CALICO });
}

/// What the CNI plugin and Felix set up on the node for a container.
fn outside(wiring: &mut Wiring, node: Node, pod: &Pod) {
    let port = &pod.port;
    let settings: &[(&str, &str)] = match wiring.family {
        Family::Ipv4 => &[
            ("net.ipv4.neigh.{}.proxy_delay", "0"),
            ("net.ipv4.conf.{}.proxy_arp", "1"),
            ("net.ipv4.conf.{}.forwarding", "1"),
        ],
        Family::Ipv6 => {
            &[("net.ipv6.conf.{}.proxy_ndp", "1"), ("net.ipv6.conf.{}.forwarding", "1")]
        }
    };
    let set = |&(key, value): &(&str, &str)| {
        Setting::required(node.space, key.replace("{}", port), value)
    };
    wiring.settings.extend(settings.iter().map(set));
    let to = Destination::Net(pod.slot.address(wiring.family), host_prefix(wiring.family));
    wiring.routes.push(Route::by_device(node.space, to, port.as_str()));
    wiring.neighbour(node.space, port, pod.slot);
}

/// What is for a node's block and for none of its containers goes nowhere.
fn block(wiring: &mut Wiring, node: Node) {
    let network = Subnet::docker(node.number()).slot(0).address(wiring.family);
    let to = Destination::Net(network, prefix_length(wiring.family));
    wiring.routes.push(Route { kind: RouteKind::Blackhole, ..Route::to(node.space, to) });
}

fn load_rules(wiring: &mut Wiring, underlay: &Underlay, pods: &Pods) {
    let pools: Vec<String> = underlay
        .nodes
        .iter()
        .map(|node| Subnet::docker(node.number()).prefix(wiring.family))
        .collect();
    for (at, node) in underlay.nodes.iter().enumerate() {
        let mine = pods.all().filter(|pod| pod.node == at);
        let devices: Vec<&str> = mine.map(|pod| pod.port.as_str()).collect();
        let text = felix::rules(wiring.family, &devices, &pools);
        wiring.rules.push(Rules { space: node.space, text });
    }
}

/// From a container onto its node, through its chains.
fn to_node(wiring: &Wiring, underlay: &Underlay, pod: &Pod) -> Vec<Waypoint> {
    let node = underlay.nodes[pod.node].space;
    let place = wiring.name(node);
    vec![
        Waypoint::device(HopKind::Veth, pod.space, UPLINK),
        Waypoint::device(HopKind::Veth, node, pod.port.as_str()),
        Waypoint::Other(Hop::new(HopKind::Conntrack, "nf_conntrack", place)),
        Waypoint::Other(
            Hop::new(HopKind::Filter, "filter/cali-FORWARD", place)
                .with_detail(format!("iifname \"{PREFIX}*\" counter {FROM_WORKLOADS}")),
        ),
    ]
}
