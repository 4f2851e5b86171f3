//! Weave Net by its own router, where that is built and the kernel has what it needs; the virtual machine's has.

use crate::cases::{enter, raise};
use crate::nodes::{Count, client_and_server, exchange_over_routes, joining, two};
use crate::paths::not_in_this_kernel;
use crate::scripts;
use tare_network::{Family, HopKind, Shape, Topology};

/// As many bytes as go to a server and back.
const SENT: u64 = 100_000;

/// The networks; who carries their frames to other nodes, by kind and name; and the port of UDP on which they go.
const MODES: [(&str, HopKind, &str, u16); 3] = [
    ("weave-sleeve", HopKind::Forwarder, "vethwe-pcap", 6783),
    ("weave-sleeve-encrypted", HopKind::Forwarder, "vethwe-pcap", 6783),
    ("weave-fastdp", HopKind::Encapsulation, "vxlan-6784", 6784),
];

/// Whether frames are carried by a real router; not by what stands for it.
fn is_real(topology: &Topology) -> bool {
    topology.hops.iter().any(|hop| {
        hop.detail
            .as_deref()
            .is_some_and(|words| words.contains("weaver") && !words.contains("stands for"))
    })
}

pub(crate) fn is_carried_by_its_own_router() {
    if tare_lab::program::find("weaver").is_none() {
        println!("  weaver is not built: make setup builds it where there is Go");
        return;
    }
    // The fast data path needs all that the other modes need.
    if !joining().contains(&"weave-fastdp") {
        return not_in_this_kernel("weave-fastdp");
    }
    let lab = enter();
    for (name, kind, carrier, port) in MODES {
        let topology = raise(&lab, name, &two());
        assert!(is_real(&topology), "{name}: {:?}", topology.hops);
        let carries = topology.hops.iter().filter(|hop| hop.kind == kind && hop.name == carrier);
        assert_eq!(carries.count(), 2, "{name}: on either node: {:?}", topology.hops);
        // Routers send each other little, and that there is any says nothing: all the bytes must have gone this way.
        let count =
            Count::of(topology.nodes[1].as_ref(), &format!("iifname eth0 udp dport {port}"));
        exchange_over_routes(name, &topology);
        assert!(count.bytes() > SENT, "{name}: {} bytes on port {port}", count.bytes());
        drop(topology);
        let (client, server) = client_and_server(name, Family::Ipv4);
        scripts::ping(name, &Shape { ..two() }, Some(client), server);
    }
}
