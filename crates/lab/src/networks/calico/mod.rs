//! `calico`, `calico-vxlan` and `calico-ipip`: no bridge; every container has its own route on its node.
//!
//! A container has a /32 (/128) address and the gateway 169.254.1.1, which is no device's address: the node answers for
//! it by proxy ARP. Nodes route each container's address to its device, drop packets to unused addresses of their
//! block, and reach the other nodes' blocks by plain routes, VXLAN or IP-in-IP. Felix's chains filter in between.

pub(crate) mod bgp;
pub(crate) mod calico_ipip;
pub(crate) mod calico_vxlan;
pub(crate) mod felix_rules;

use crate::networks::calico::felix_rules::{FROM_WORKLOADS, PREFIX};
use crate::networks::multi_host::tunnels::encapsulation_proof;
use crate::networks::{LabNetworkDefinition, nftables_requirements};
use crate::plan::address::{LabSubnet, host_prefix, prefix_length};
use crate::plan::backbone::Backbone;
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::node_containers::{NodeContainer, NodeContainers};
use crate::plan::nodes::{LabNode, UPLINK};
use crate::plan::underlay::{MOST_NODES, ROUTER, Underlay, check_nodes, inner_mtu, parse_link};
use crate::plan::wiring::{
    DevicePair, DevicePairEnd, DeviceSysctl, InterfaceAddress, IpRoute, Neighbour, Ruleset, Wiring,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use tare_network::{
    Error, Family, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::addressing::{RouteDestination, RouteKind};
use tare_sandbox::netlink::MacAddress;

/// Link-layer address of every host-side device of a container.
const HOST_SIDE: MacAddress = MacAddress::new([0xee; 6]);

/// Calico with one of its backbones between nodes.
pub(crate) struct CalicoNetwork {
    pub(crate) about: NetworkInfo,
    pub(crate) backbone: Backbone,
    /// Kernel module that the backbone needs, if any.
    pub(crate) module: Option<&'static str>,
}

/// Reference of Calico's networks.
pub(crate) const SOURCE: &str =
    "projectcalico/calico: felix/rules, cni-plugin/pkg/dataplane/linux; networking/ipip, vxlan";

/// Calico without encapsulation.
pub(crate) const NETWORK: CalicoNetwork = CalicoNetwork {
    about: NetworkInfo {
        name: "calico",
        summary: "a routed address for every container, Calico's policy chains, routes by BGP (BIRD)",
        stands_for: "Calico's data plane without encapsulation: rules as Felix writes them, a real BIRD on each node",
        source: SOURCE,
        options: &NetworkOption::DEVICE_PAIRS,
    },
    backbone: Backbone::Routes,
    module: None,
};

impl LabNetworkDefinition for CalicoNetwork {
    fn info(&self) -> NetworkInfo {
        self.about.clone()
    }

    fn nodes(&self) -> RangeInclusive<u32> {
        2..=MOST_NODES
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = vec![Requirement::Nodes(2), Requirement::Kernel { module: "veth" }];
        needs.push(Requirement::Kernel { module: "bridge" });
        needs.extend(self.module.map(|module| Requirement::Kernel { module }));
        if self.backbone == Backbone::Routes {
            needs.push(bgp::requirement());
        }
        needs.extend(nftables_requirements(&[
            "nft_masq",
            "nft_ct",
            "nft_fib_ipv4",
            "nft_fib_ipv6",
        ]));
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let name = self.about.name;
        check_nodes(name, 2, shape)?;
        if self.backbone == Backbone::Ipip && shape.family == Family::Ipv6 {
            let why = "IP-in-IP (RFC 2003) carries IPv4 only";
            return Err(Error::new(format!("lay out {name}"), why)
                .with_remedy("use --family ipv4, or calico-vxlan"));
        }
        let inside = inner_mtu(shape, &parse_link(shape)?, self.backbone.headers());
        let mut wiring = Wiring::new(shape.family, inside);
        let underlay = Underlay::add(&mut wiring, shape, &ROUTER)?;
        let pods = add_containers(&mut wiring, &underlay, shape, site);
        match self.backbone {
            Backbone::Routes => bgp::add(&mut wiring, &underlay),
            // Felix itself configures tunnels in the kernel.
            backbone => backbone.add(&mut wiring, &underlay),
        }
        for node in &underlay.nodes {
            add_blackhole(&mut wiring, *node);
        }
        load_rules(&mut wiring, &underlay, &pods);
        let (client, server) = (&pods.clients[0], &pods.servers[0]);
        let mut path = to_node(&wiring, &underlay, client);
        path.extend(self.backbone.path(&underlay, client.node, server.node));
        path.extend(to_node(&wiring, &underlay, server).into_iter().rev());
        let client_node = underlay.nodes[client.node].space;
        let mut layout = pods.layout(wiring, path, shape, site);
        layout.proof = encapsulation_proof(&layout)
            .or(Some(PathProof::Rule { space: client_node, rule: FROM_WORKLOADS }));
        Ok(layout)
    }
}

/// Adds the containers, each joined to its node by a veth pair and on no bridge.
fn add_containers(
    wiring: &mut Wiring,
    underlay: &Underlay,
    shape: &Shape,
    site: &NetworkParameters,
) -> NodeContainers {
    let mut hung = vec![0_u16; underlay.nodes.len()];
    NodeContainers::place(shape, |at, name, port| {
        let node = underlay.nodes[at];
        // The first address of a block belongs to the node's tunnel.
        let slot = LabSubnet::docker(node.number()).slot(1 + hung[at]);
        hung[at] += 1;
        let space = wiring.add_namespace(name, &[]);
        let port = format!("{PREFIX}-{port}");
        let near = DevicePairEnd::new(node.space, port.as_str()).with_mac(HOST_SIDE);
        let far = DevicePairEnd::new(space, UPLINK).with_mac(slot.mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(site.options.rate));
        let pod = NodeContainer { node: at, space, slot, port };
        add_container_side(wiring, &pod);
        add_node_side(wiring, node, &pod);
        pod
    })
}

/// Adds a container's address and its link-local gateway.
fn add_container_side(wiring: &mut Wiring, pod: &NodeContainer) {
    let (gateway, host) = match wiring.family {
        Family::Ipv4 => (IpAddr::V4(Ipv4Addr::new(169, 254, 1, 1)), 32),
        // The link-local address is derived from the device's link-layer address.
        Family::Ipv6 => {
            let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0xecee, 0xeeff, 0xfeee, 0xeeee);
            (IpAddr::V6(address), 128)
        }
    };
    let (space, device) = (pod.space, UPLINK.to_owned());
    let address = pod.slot.address(wiring.family);
    wiring.addresses.push(InterfaceAddress {
        space,
        device: device.clone(),
        address,
        prefix: host,
    });
    if wiring.family == Family::Ipv4 {
        wiring.routes.push(IpRoute::by_device(space, RouteDestination::Net(gateway, host), UPLINK));
    }
    let default = IpRoute::default_via(space, gateway);
    wiring.routes.push(IpRoute { device: Some(device.clone()), ..default });
    wiring.neighbours.push(Neighbour { space, device, address: gateway, mac: HOST_SIDE });
}

/// Adds the node's side of a container, as the CNI plugin and Felix set it up.
fn add_node_side(wiring: &mut Wiring, node: LabNode, pod: &NodeContainer) {
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
    let set = |&(key, value): &(&str, &'static str)| {
        DeviceSysctl::required(node.space, key.replace("{}", port), value)
    };
    wiring.settings.extend(settings.iter().map(set));
    let to = RouteDestination::Net(pod.slot.address(wiring.family), host_prefix(wiring.family));
    wiring.routes.push(IpRoute::by_device(node.space, to, port.as_str()));
    wiring.add_neighbour(node.space, port, pod.slot);
}

/// Adds a blackhole route for the node's block, for addresses that no container has.
fn add_blackhole(wiring: &mut Wiring, node: LabNode) {
    let network = LabSubnet::docker(node.number()).slot(0).address(wiring.family);
    let to = RouteDestination::Net(network, prefix_length(wiring.family));
    wiring.routes.push(IpRoute { kind: RouteKind::Blackhole, ..IpRoute::to(node.space, to) });
}

fn load_rules(wiring: &mut Wiring, underlay: &Underlay, pods: &NodeContainers) {
    let pools: Vec<String> = underlay
        .nodes
        .iter()
        .map(|node| LabSubnet::docker(node.number()).prefix(wiring.family))
        .collect();
    for (at, node) in underlay.nodes.iter().enumerate() {
        let mine = pods.all().filter(|pod| pod.node == at);
        let devices: Vec<&str> = mine.map(|pod| pod.port.as_str()).collect();
        let text = felix_rules::rules(wiring.family, &devices, &pools);
        wiring.rules.push(Ruleset { space: node.space, text });
    }
}

/// Returns the path from a container to its node, through the node's chains.
fn to_node(wiring: &Wiring, underlay: &Underlay, pod: &NodeContainer) -> Vec<Waypoint> {
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
