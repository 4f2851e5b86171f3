//! Tests of the options `+redirect-peer`, `+xdp` and `+sockmap`: an eBPF program takes packets from container to container,
//! or data from socket to socket.

use crate::cases::{enter, raise};
use crate::container_programs::start;
use crate::harness::Case;
use crate::paths::{device_traffic, rule_packets, shape};
use tare_dev::eventually;
use tare_network::{Family, HopKind, NamespaceCounts, Topology};

/// Networks whose packets are redirected, as users spell them.
const OF_PACKETS: [&str; 4] =
    ["bridge+redirect-peer", "bridge-plain+redirect-peer", "bridge+xdp", "bridge-plain+xdp"];

/// Networks whose sockets' data are redirected.
const OF_SOCKETS: [&str; 2] = ["shared+sockmap", "loopback+sockmap"];

/// Returns all networks that have one of the options.
pub(crate) fn networks() -> impl Iterator<Item = &'static str> {
    OF_PACKETS.into_iter().chain(OF_SOCKETS)
}

/// Requests of a conversation, each of which is echoed.
const REQUESTS: u64 = 100;

/// Bytes that a conversation sends in each direction.
const CONVERSED: u64 = 100_000;

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        let case = format!("every_segment_is_redirected_over_{family}");
        let redirects = move |network: &str| redirects_packets(network, family);
        cases.extend(OF_PACKETS.map(|network| Case::of_network(&case, network, redirects)));
        let case = format!("what_sockets_send_is_redirected_over_{family}");
        let redirects = move |network: &str| redirects_sockets(network, family);
        cases.extend(OF_SOCKETS.map(|network| Case::of_network(&case, network, redirects)));
    }
    cases
}

/// Checks that the program redirects as many packets as both ends send segments, and that neither the bridge nor its
/// rules see them.
fn redirects_packets(name: &str, family: Family) {
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

/// Checks that the program redirects each request and each echo, and that none of them passes the loopback device.
fn redirects_sockets(name: &str, family: Family) {
    let mut topology = raise(&enter(), name, &shape(family));
    let hops: Vec<(HopKind, &str)> =
        topology.hops.iter().map(|hop| (hop.kind, hop.name.as_str())).collect();
    assert_eq!(hops, [(HopKind::Ebpf, "sockmap")]);
    let mut watch = topology.watch.take().expect("the lab counts");
    watch.read_gains();
    let looped = || device_traffic(topology.servers[0].as_ref(), "lo").sent;
    let looped_before = looped();
    converse(&topology);
    let gains = watch.read_gains();
    let redirected = gain(&gains, |place| place.rules.get("sockmap")?.get("sends"));
    assert_eq!(redirected, 2 * REQUESTS);
    let looped = looped() - looped_before;
    assert!(looped < CONVERSED / 2, "{looped} bytes passed the loopback device");
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
