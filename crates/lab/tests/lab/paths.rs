//! Tests that packets take the path that gives a network its name, by the counters of its devices and rules.

use crate::cases::{enter, output, raise};
use crate::container_programs::start;
use crate::harness::Case;
use std::path::Path;
use tare_network::{Container, Family, HopKind, Shape, Topology};

/// Bytes that `dial` sends, and `serve` sends back.
pub(crate) const SENT: u64 = 100_000;
/// Upper bound of the bytes that devices carry by themselves during a connection (IPv6's neighbour and multicast
/// messages).
const IDLE: u64 = 5_000;

/// Traffic of a device in each direction: bytes and, of those sent, packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceTraffic {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    packets_sent: u64,
}

/// Returns the traffic that a device of a container has carried so far.
pub(crate) fn device_traffic(container: &dyn Container, device: &str) -> DeviceTraffic {
    let text = output(container, Path::new("/bin/cat"), &["/proc/self/net/dev"]);
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{device}:")));
    let line = line.unwrap_or_else(|| panic!("no {device} in {}: {text}", container.name()));
    let fields: Vec<u64> =
        line.split_whitespace().map(|field| field.parse().expect("a number")).collect();
    DeviceTraffic { received: fields[0], sent: fields[8], packets_sent: fields[9] }
}

/// Sends bytes there and back over the first route.
pub(crate) fn exchange(topology: &Topology) {
    let route = topology.routes[0];
    let (server, client) = (&topology.servers[route.server], &topology.clients[route.client]);
    let (_serving, line) = start(server.as_ref(), &["serve", &route.listen.to_string()]);
    assert_eq!(line, "listening");
    let (_dialling, line) = start(client.as_ref(), &["dial", &route.dial.to_string()]);
    assert_eq!(line, SENT.to_string());
}

/// Sends bytes there and back, and returns the traffic of a device during the exchange.
pub(crate) fn traffic_of_exchange(
    topology: &Topology,
    container: &dyn Container,
    device: &str,
) -> DeviceTraffic {
    let before = device_traffic(container, device);
    exchange(topology);
    let after = device_traffic(container, device);
    DeviceTraffic {
        received: after.received - before.received,
        sent: after.sent - before.sent,
        packets_sent: after.packets_sent - before.packets_sent,
    }
}

/// Checks that all bytes of an exchange pass the device, in both directions.
pub(crate) fn assert_passes(topology: &Topology, container: &dyn Container, device: &str) {
    let seen = traffic_of_exchange(topology, container, device);
    let place = container.name();
    assert!(seen.received >= SENT && seen.sent >= SENT, "{place}:{device} carried {seen:?}");
}

/// Checks that no bytes of an exchange pass the device.
fn assert_bypasses(topology: &Topology, container: &dyn Container, device: &str) {
    let seen = traffic_of_exchange(topology, container, device);
    let place = container.name();
    assert!(seen.received < IDLE && seen.sent < IDLE, "{place}:{device} carried {seen:?}");
}

/// Returns the details that ip(8) prints of a device.
pub(crate) fn link_details(container: &dyn Container, device: &str) -> String {
    let ip = tare_sandbox::program::find("ip").expect("ip is installed");
    output(container, &ip, &["-details", "link", "show", device])
}

/// Returns the packets counted by the node's rules that contain a text.
pub(crate) fn rule_packets(topology: &Topology, rule: &str) -> u64 {
    let nft = tare_sandbox::program::find("nft").expect("nft is installed");
    let rules = output(topology.nodes[0].as_ref(), &nft, &["list", "ruleset"]);
    let lines = rules.lines().filter(|line| line.contains(rule));
    let counts = lines.filter_map(|line| line.split("counter packets ").nth(1));
    counts.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum()
}

pub(crate) fn shape(family: Family) -> Shape {
    Shape { family, ..Shape::default() }
}

pub(crate) fn all() -> Vec<Case> {
    [
        ("bridges_are_what_ip_makes", bridges_are_what_ip_makes as fn()),
        ("macvlan_devices_hand_packets_to_each_other", macvlan_devices_hand_packets_to_each_other),
        ("pipework_takes_the_second_bridge", pipework_takes_the_second_bridge),
        (
            "macvlan_nat_translates_the_external_address",
            macvlan_nat_translates_the_external_address,
        ),
        (
            "without_segmentation_every_packet_is_of_the_mtu",
            without_segmentation_every_packet_is_of_the_mtu,
        ),
        (
            "without_tracking_rules_are_passed_and_no_connection_is_kept",
            without_tracking_rules_are_passed_and_no_connection_is_kept,
        ),
        ("an_option_sets_the_mtu_of_one_network", an_option_sets_the_mtu_of_one_network),
        ("received_packets_are_spread_over_all_cores", received_packets_are_spread_over_all_cores),
        ("a_process_serves_the_published_port", a_process_serves_the_published_port),
        ("what_cannot_be_switched_off_is_said", what_cannot_be_switched_off_is_said),
    ]
    .into_iter()
    .map(|(name, body)| Case::new(name, body))
    .collect()
}

fn bridges_are_what_ip_makes() {
    let sandbox = enter();
    for name in ["bridge", "bridge+plain", "pipework"] {
        let topology = raise(&sandbox, name, &Shape::default());
        let ip = tare_sandbox::program::find("ip").expect("ip is installed");
        let node = topology.nodes[0].as_ref();
        let bridges =
            |node| output(node, &ip, &["-details", "-oneline", "link", "show", "type", "bridge"]);
        let settings = |line: &str| -> Vec<String> {
            let words: Vec<&str> = line.split_whitespace().collect();
            let those = ["stp_state", "vlan_filtering", "mcast_snooping", "mcast_querier", "mtu"];
            let pairs = words.windows(2).filter(|pair| those.contains(&pair[0]));
            pairs.map(|pair| pair.join(" ")).collect()
        };
        let ours: Vec<Vec<String>> = bridges(node).lines().map(settings).collect();
        output(node, &ip, &["link", "add", "likewise", "type", "bridge"]);
        let all = bridges(node);
        let theirs = all.lines().find(|line| line.contains(" likewise:")).expect("it was made");
        assert_eq!(settings(theirs).len(), 5, "{theirs}");
        assert!(!ours.is_empty());
        ours.iter().for_each(|one| assert_eq!(*one, settings(theirs), "{name}"));
    }
}

fn macvlan_devices_hand_packets_to_each_other() {
    let sandbox = enter();
    for (name, device) in [("macvlan", "eth0"), ("pipework-macvlan", "eth1")] {
        for family in [Family::Ipv4, Family::Ipv6] {
            let topology = raise(&sandbox, name, &shape(family));
            let client = topology.clients[0].as_ref();
            assert!(link_details(client, device).contains("macvlan mode bridge"), "{name}");
            assert_passes(&topology, client, device);
            assert_passes(&topology, topology.servers[0].as_ref(), device);
            // The devices are on the uplink, but packets between them do not leave by it.
            assert_bypasses(&topology, topology.nodes[0].as_ref(), "eth0");
            let network = match family {
                Family::Ipv4 => "10.20.128.",
                Family::Ipv6 => "fd00:0:0:14::80",
            };
            let dialled = topology.routes[0].dial.ip().to_string();
            assert!(dialled.starts_with(network), "{name} is on the node's own network: {dialled}");
            assert_eq!(topology.servers[0].address(), topology.routes[0].dial.ip());
        }
    }
}

fn pipework_takes_the_second_bridge() {
    let sandbox = enter();
    for name in ["pipework", "pipework+plain"] {
        for family in [Family::Ipv4, Family::Ipv6] {
            let topology = raise(&sandbox, name, &shape(family));
            let node = topology.nodes[0].as_ref();
            assert!(link_details(node, "veth1pl0").contains("master br1"), "{name}");
            assert_passes(&topology, node, "veth1pl0");
            assert_passes(&topology, topology.clients[0].as_ref(), "eth1");
            assert_bypasses(&topology, topology.clients[0].as_ref(), "eth0");
        }
    }
    let topology = raise(&sandbox, "pipework", &Shape::default());
    let rule = "iifname \"br1\" oifname \"br1\"";
    let before = rule_packets(&topology, rule);
    exchange(&topology);
    assert!(rule_packets(&topology, rule) > before, "bridged packets pass the filter");
}

fn macvlan_nat_translates_the_external_address() {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let topology = raise(&sandbox, "macvlan-nat", &shape(family));
        let route = topology.routes[0];
        assert_ne!(route.dial.ip(), route.listen.ip(), "the client dials another address");
        let rule = format!("daddr {} counter", route.dial.ip());
        let before = rule_packets(&topology, &rule);
        exchange(&topology);
        assert_eq!(
            rule_packets(&topology, &rule),
            before + 1,
            "each connection is translated once"
        );
        assert_passes(&topology, topology.nodes[0].as_ref(), "veth-s0");
        // The node's device with the address answers for this address only.
        let node = topology.nodes[0].as_ref();
        assert!(link_details(node, "mvpub0").contains("macvlan mode bridge"));
        let ip = tare_sandbox::program::find("ip").expect("ip is installed");
        let addresses = output(node, &ip, &["address", "show", "mvpub0"]);
        let prefix = if family == Family::Ipv4 { 32 } else { 128 };
        assert!(addresses.contains(&format!("{}/{prefix}", route.dial.ip())), "{addresses}");
    }
    let topology = raise(&sandbox, "macvlan-nat", &Shape::default());
    let settings = [
        "/proc/sys/net/ipv4/conf/mvpub0/arp_ignore",
        "/proc/sys/net/ipv4/conf/mvpub0/arp_announce",
    ];
    let read = output(topology.nodes[0].as_ref(), Path::new("/bin/cat"), &settings);
    assert_eq!(read, "1\n2\n");
}

fn without_segmentation_every_packet_is_of_the_mtu() {
    let sandbox = enter();
    let sent = |name: &str| {
        let topology = raise(&sandbox, name, &Shape::default());
        let seen = traffic_of_exchange(&topology, topology.clients[0].as_ref(), "eth0");
        (seen.packets_sent, topology)
    };
    let (with, _) = sent("bridge-plain");
    let (without, topology) = sent("bridge-plain+without=tso+without=gso");
    // A packet holds the MTU less the headers.
    let least = SENT / 1448;
    assert!(with < least && without >= least, "{with} packets with it, {without} without");
    let details: Vec<_> = topology.hops.iter().map(|hop| hop.detail.as_deref()).collect();
    assert_eq!(details, [Some("without gso, tso"); 5]);
    assert_eq!(topology.findings, []);
}

fn what_cannot_be_switched_off_is_said() {
    let sandbox = enter();
    let shape = Shape {
        without: [tare_network::Offload::Checksum].into_iter().collect(),
        ..Shape::default()
    };
    let topology = raise(&sandbox, "host", &shape);
    let found = format!("{}", topology.findings.first().expect("a finding"));
    assert!(found.ends_with("stayed enabled: node-0:lo checksum"), "{found}");
    let detail = topology.hops[0].detail.as_deref();
    assert_eq!(detail, Some("keeping checksum"));
    // GRO of a veth device is off by default.
    let topology = raise(&sandbox, "veth+plain+without=gro", &Shape::default());
    assert_eq!(topology.hops[0].detail.as_deref(), Some("which never had gro"));
    assert_eq!(topology.findings, []);
}

/// Returns the number of connections that a namespace tracks.
fn tracked_connections(container: &dyn Container) -> u64 {
    let file = "/proc/sys/net/netfilter/nf_conntrack_count";
    output(container, Path::new("/bin/cat"), &[file]).trim().parse().expect("a number")
}

/// Sends bytes there and back, and returns how many more connections a namespace tracks afterwards.
fn connections_of_exchange(topology: &Topology, container: &dyn Container) -> u64 {
    // Packets that devices send as they come up (IGMP) may be tracked before the rules are loaded.
    let before = tracked_connections(container);
    exchange(topology);
    tracked_connections(container) - before
}

fn without_tracking_rules_are_passed_and_no_connection_is_kept() {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        for name in ["bridge", "bridge+firewall=nftables", "pipework"] {
            let topology = raise(&sandbox, name, &shape(family));
            assert!(connections_of_exchange(&topology, topology.nodes[0].as_ref()) > 0, "{name}");
            let topology = raise(&sandbox, &format!("{name}+untracked"), &shape(family));
            let before = rule_packets(&topology, "notrack");
            assert_eq!(connections_of_exchange(&topology, topology.nodes[0].as_ref()), 0, "{name}");
            assert!(rule_packets(&topology, "notrack") > before, "{name}: packets pass the rule");
            assert!(topology.hops.iter().all(|hop| hop.kind != HopKind::Conntrack), "{name}");
        }
    }
    // Docker's DNS rules enable connection tracking.
    let topology = raise(&sandbox, "veth", &Shape::default());
    assert!(connections_of_exchange(&topology, topology.clients[0].as_ref()) > 0);
    let topology = raise(&sandbox, "veth+untracked", &Shape::default());
    assert_eq!(connections_of_exchange(&topology, topology.clients[0].as_ref()), 0);
}

fn an_option_sets_the_mtu_of_one_network() {
    let sandbox = enter();
    for (name, mtu) in
        [("bridge+mtu=9000", 9000), ("veth+mtu=1400", 1400), ("macvlan+mtu=1300", 1300)]
    {
        let topology = raise(&sandbox, name, &Shape::default());
        let device = topology.hops.iter().find_map(|hop| hop.mtu);
        assert_eq!(device, Some(mtu), "{name}: {:?}", topology.hops);
        exchange(&topology);
    }
}

fn received_packets_are_spread_over_all_cores() {
    let sandbox = enter();
    let steered = |name: &str| {
        let topology = raise(&sandbox, name, &Shape::default());
        // A program of the lab sees the machine's /sys; the one of its own namespace is mounted for this command.
        let look = "mount -t sysfs sysfs /sys && cat /sys/class/net/eth0/queues/rx-0/rps_cpus";
        let unshare = tare_sandbox::program::find("unshare").expect("util-linux is installed");
        let mask = output(topology.servers[0].as_ref(), &unshare, &["-m", "sh", "-c", look]);
        let digits = mask.trim().replace(',', "");
        u128::from_str_radix(&digits, 16).expect("a set of cores").count_ones()
    };
    let cores = std::thread::available_parallelism().expect("some cores").get();
    let least = u32::try_from(cores).expect("a few");
    assert_eq!(steered("bridge"), 0, "nothing is spread unless it is asked for");
    for name in ["bridge+rps", "bridge-plain+rps"] {
        let cores = steered(name);
        assert!(cores >= least, "{name}: {cores} of {least} cores");
    }
}

fn a_process_serves_the_published_port() {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let topology = raise(&sandbox, "published-proxy", &shape(family));
        let (node, route) = (topology.nodes[0].as_ref(), topology.routes[0]);
        assert_ne!(route.dial.ip(), route.listen.ip(), "the client dials the node");
        // Bytes pass the loopback device to the process, and then the bridge, in both directions.
        assert_passes(&topology, node, "lo");
        assert_passes(&topology, node, "veth-s0");
        let nft = tare_sandbox::program::find("nft").expect("nft is installed");
        assert_eq!(output(node, &nft, &["list", "ruleset"]), "", "no rule translates anything");
        let forwarder = topology.hops.iter().find(|hop| hop.kind == HopKind::Forwarder);
        assert!(forwarder.is_some_and(|hop| hop.detail.is_some()), "{:?}", topology.hops);
        answers_datagrams(&topology);
    }
}

/// Checks that a datagram to the published port reaches the server through the process, and that the answer reaches the
/// client.
fn answers_datagrams(topology: &Topology) {
    let gateway = match topology.routes[0].listen.ip() {
        std::net::IpAddr::V4(_) => "10.100.0.1",
        std::net::IpAddr::V6(_) => "fd00:0:0:64::1",
    };
    let seen = sender_of_datagram(topology);
    assert_eq!(seen.ip().to_string(), gateway, "the server sees the process, not the client");
}

/// Sends a datagram over the first route. Returns the address from which the server gets it, by its answer.
pub(crate) fn sender_of_datagram(topology: &Topology) -> std::net::SocketAddr {
    let route = topology.routes[0];
    let server = topology.servers[0].as_ref();
    let (_answering, line) = start(server, &["answer", &route.listen.to_string()]);
    assert_eq!(line, "listening");
    let (_asking, line) = start(topology.clients[0].as_ref(), &["ask", &route.dial.to_string()]);
    line.parse().expect("an address")
}
