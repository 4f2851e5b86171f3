//! Tests of the options `+redirect-peer` and `+xdp`: an eBPF program takes packets from container to container.

use crate::cases::{enter, raise};
use crate::container_programs::start;
use crate::harness::Case;
use crate::paths::{device_traffic, rule_packets, shape};
use tare_dev::eventually;
use tare_network::{Family, HopKind, NamespaceCounts, Topology};

/// Networks that have the option, as users spell them.
pub(crate) const NETWORKS: [&str; 4] =
    ["bridge+redirect-peer", "bridge-plain+redirect-peer", "bridge+xdp", "bridge-plain+xdp"];

/// Bytes that a conversation sends in each direction.
const CONVERSED: u64 = 100_000;

pub(crate) fn all() -> Vec<Case> {
    let of = |family: Family| {
        move |network| {
            let case = format!("every_segment_is_redirected_over_{family}");
            Case::of_network(&case, network, move |network| redirects_all(network, family))
        }
    };
    [Family::Ipv4, Family::Ipv6]
        .into_iter()
        .flat_map(|family| NETWORKS.into_iter().map(of(family)))
        .collect()
}

/// Checks that the program redirects as many packets as both ends send segments, and that neither the bridge nor its
/// rules see them.
fn redirects_all(name: &str, family: Family) {
    let mut topology = raise(&enter(), name, &shape(family));
    let by_xdp = name.ends_with("xdp");
    let hop = if by_xdp { "xdp_redirect" } else { "redirect_peer" };
    let hops: Vec<(HopKind, &str)> =
        topology.hops.iter().map(|hop| (hop.kind, hop.name.as_str())).collect();
    let mut expected =
        vec![(HopKind::Veth, "eth0"), (HopKind::Veth, "veth-c0"), (HopKind::Ebpf, hop)];
    // What XDP redirects leaves by the device, what goes on at the peer does not.
    expected.extend(by_xdp.then_some((HopKind::Veth, "veth-s0")));
    expected.push((HopKind::Veth, "eth0"));
    assert_eq!(hops, expected);
    let mut watch = topology.watch.take().expect("the lab counts");
    watch.read_gains();
    let forwarded = || rule_packets(&topology, "docker0");
    let port = || device_traffic(topology.nodes[0].as_ref(), "veth-s0").sent;
    let (forwarded_before, port_before) = (forwarded(), port());
    converse(&topology);
    let [mut redirected, mut sent] = [0, 0];
    eventually("all segments were redirected", || {
        let gains = watch.read_gains();
        redirected += gain(&gains, |place| place.rules.get(hop)?.get("packets"));
        sent += gain(&gains, |place| place.protocols.get("Tcp.OutSegs"))
            + gain(&gains, |place| place.protocols.get("Tcp.RetransSegs"));
        let whole = sent > 0 && redirected == sent;
        if whole { Ok(()) } else { Err(format!("{redirected} redirected, {sent} sent")) }
    });
    // The bridge still floods the containers' few multicast packets of IPv6.
    let left = port() - port_before;
    assert_eq!(left >= CONVERSED, by_xdp, "{left} bytes left by the server's port");
    let filtered = forwarded() - forwarded_before;
    assert!(filtered < sent / 2, "{sent} segments were sent, the bridge's rules saw {filtered}");
}

/// Sends requests of less than a packet and their echoes over the first route.
fn converse(topology: &Topology) {
    let route = topology.routes[0];
    let (server, client) = (&topology.servers[route.server], &topology.clients[route.client]);
    let (_serving, line) = start(server.as_ref(), &["echo", &route.listen.to_string()]);
    assert_eq!(line, "listening");
    let (_dialling, line) = start(client.as_ref(), &["converse", &route.dial.to_string()]);
    assert_eq!(line, CONVERSED.to_string());
}

/// Returns the sum of a counter over all namespaces.
fn gain(places: &[NamespaceCounts], count: impl Fn(&NamespaceCounts) -> Option<&u64>) -> u64 {
    places.iter().filter_map(count).sum()
}
