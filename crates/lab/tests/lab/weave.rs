//! Tests of Weave Net with its own router, if that is built and the kernel has its modules; the virtual machine's has.

use crate::cases::{enter, raise};
use crate::encapsulation::RulePackets;
use crate::harness::{Case, CaseRequirement};
use crate::nodes::{client_and_server, exchange_over_routes, two_nodes};
use crate::scripts;
use tare_network::{Family, Hop, HopKind, Topology};

/// Bytes that go to a server, and back.
const SENT: u64 = 100_000;

/// Networks, with the kind and name of the hop that carries their frames to other nodes, and the UDP port on which they
/// go.
const MODES: [(&str, HopKind, &str, u16); 3] = [
    ("weave-sleeve", HopKind::Forwarder, "vethwe-pcap", 6783),
    ("weave-sleeve-encrypted", HopKind::Forwarder, "vethwe-pcap", 6783),
    ("weave-fastdp", HopKind::Encapsulation, "vxlan-6784", 6784),
];

/// Returns true if frames are carried by a real router, and not by its stand-in.
fn is_real(topology: &Topology) -> bool {
    let told = |hop: &Hop| hop.detail.clone().unwrap_or_default();
    let real = |words: String| words.contains("weaver") && !words.contains("stands for");
    topology.hops.iter().map(told).any(real)
}

pub(crate) fn all() -> Vec<Case> {
    let carried = MODES.map(|mode| {
        Case::new(format!("weave_is_carried_by_its_own_router::{}", mode.0), move || {
            is_carried_by_its_own_router(mode);
        })
    });
    let shown = MODES.map(|(name, ..)| {
        Case::of_network("the_shown_commands_set_weave_up", name, is_set_up_by_the_shown_commands)
    });
    // The fast data path's requirements include those of the other modes.
    let on_real = |case: Case| case.on("weave-fastdp").needing(CaseRequirement::Program("weaver"));
    carried.into_iter().chain(shown).map(on_real).collect()
}

fn is_carried_by_its_own_router((name, kind, carrier, port): (&str, HopKind, &str, u16)) {
    let mut topology = raise(&enter(), name, &two_nodes());
    assert!(is_real(&topology), "{:?}", topology.hops);
    let carries = topology.hops.iter().filter(|hop| hop.kind == kind && hop.name == carrier);
    assert_eq!(carries.count(), 2, "on either node: {:?}", topology.hops);
    topology.routes.truncate(1);
    let node = topology.nodes[1].as_ref();
    let count = RulePackets::new(node, &format!("iifname eth0 udp dport {port}"));
    exchange_over_routes(name, &topology);
    // Routers exchange a few packets of their own, so the count must exceed all bytes of the exchange.
    assert!(count.bytes() > SENT, "{} bytes to port {port}", count.bytes());
}

fn is_set_up_by_the_shown_commands(name: &str) {
    let (client, server) = client_and_server(name, Family::Ipv4);
    scripts::ping(name, &two_nodes(), Some(client), server);
}
