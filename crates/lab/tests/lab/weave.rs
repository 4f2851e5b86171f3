//! Weave Net by its own router, where that is built and the kernel has what it needs; the virtual machine's has.

use crate::cases::{enter, raise, site};
use crate::nodes::{Count, client_and_server, exchange_over_routes, two};
use crate::paths::not_in_this_kernel;
use crate::scripts;
use tare_lab::KernelProbe;
use tare_network::{Family, Hop, HopKind, Registry, Spelled, Topology};

/// As many bytes go to a server, and back.
const SENT: u64 = 100_000;

/// The networks; who carries their frames to other nodes, by kind and name; and the port of UDP on which they go.
const MODES: [(&str, HopKind, &str, u16); 3] = [
    ("weave-sleeve", HopKind::Forwarder, "vethwe-pcap", 6783),
    ("weave-sleeve-encrypted", HopKind::Forwarder, "vethwe-pcap", 6783),
    ("weave-fastdp", HopKind::Encapsulation, "vxlan-6784", 6784),
];

/// Whether frames are carried by a real router, and not by what stands for it.
fn is_real(topology: &Topology) -> bool {
    let told = |hop: &Hop| hop.detail.clone().unwrap_or_default();
    let real = |words: String| words.contains("weaver") && !words.contains("stands for");
    topology.hops.iter().map(told).any(real)
}

/// Whether there is a real router and a kernel for all of its modes.
fn is_there() -> bool {
    if tare_lab::program::find("weaver").is_none() {
        println!("  weaver is not built: make setup builds it where there is Go");
        return false;
    }
    // The fast data path needs all that the other modes need.
    let fast: Spelled = "weave-fastdp".parse().expect("a good name");
    let registry = Registry::new(tare_lab::networks(None));
    let network = registry.find(&fast).expect("a known network");
    let there = registry.missing(network, &site(&fast), &KernelProbe::default()).is_none();
    if !there {
        not_in_this_kernel("weave-fastdp");
    }
    there
}

pub(crate) fn is_carried_by_its_own_router() {
    if !is_there() {
        return;
    }
    let lab = enter();
    for (name, kind, carrier, port) in MODES {
        let mut topology = raise(&lab, name, &two());
        assert!(is_real(&topology), "{name}: {:?}", topology.hops);
        let carries = topology.hops.iter().filter(|hop| hop.kind == kind && hop.name == carrier);
        assert_eq!(carries.count(), 2, "{name}: on either node: {:?}", topology.hops);
        topology.routes.truncate(1);
        let node = topology.nodes[1].as_ref();
        let count = Count::of(node, &format!("iifname eth0 udp dport {port}"));
        exchange_over_routes(name, &topology);
        // Routers send each other a little by themselves: it must be all the bytes that went this way.
        assert!(count.bytes() > SENT, "{name}: {} bytes to port {port}", count.bytes());
    }
}

pub(crate) fn is_set_up_by_the_shown_commands() {
    if !is_there() {
        return;
    }
    for (name, ..) in MODES {
        let (client, server) = client_and_server(name, Family::Ipv4);
        scripts::ping(name, &two(), Some(client), server);
    }
}
