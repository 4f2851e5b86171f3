//! Several nodes: every network that joins them carries traffic, and by the path that its name promises.

use crate::actors::start;
use crate::cases::{enter, output, path, raise, site};
use crate::daemons::may_switch;
use crate::rates::is_limited;
use crate::scripts;
use std::sync::Arc;
use tare_lab::{KernelProbe, Lab, networks, pairs};
use tare_network::{Container, Exit, Family, HopKind, Registry, Shape, Spelled, Topology};

/// Every network that joins nodes and runs on this kernel, as users spell it, but for `CLIENT/SERVER`.
pub(crate) fn joining() -> Vec<&'static str> {
    let registry = Registry::new(networks(None));
    registry
        .listing(&KernelProbe::default())
        .into_iter()
        .filter(|one| one.nodes.contains(&2) && one.missing.is_none())
        .map(|one| one.about.name)
        .collect()
}

/// Those of them whose containers speak this family.
fn speaking(family: Family) -> Vec<&'static str> {
    const IPV4_ALONE: [&str; 6] =
        ["ipip", "calico-ipip", "ipsec", "ipsec-user", "flannel-udp", "flannel-ipip"];
    let alone = |name: &str| IPV4_ALONE.contains(&name);
    let speaks = |name: &&str| family == Family::Ipv4 || !alone(name);
    joining().into_iter().filter(speaks).collect()
}

/// All pairs of places.
fn places() -> Vec<&'static str> {
    pairs(None).iter().map(|pair| pair.about().name).collect()
}

pub(crate) fn two() -> Shape {
    Shape { nodes: 2, ..Shape::default() }
}

pub(crate) fn two_of_ipv6() -> Shape {
    Shape { family: Family::Ipv6, ..two() }
}

/// Raises a network, a pair of places too.
fn raise_any(lab: &Arc<Lab>, name: &str, shape: &Shape) -> Topology {
    let spelled: Spelled = name.parse().expect("a good name");
    let registry =
        Registry::new(networks(Some(Arc::clone(lab)))).with_apart(pairs(Some(Arc::clone(lab))));
    let raised = registry.find(&spelled).expect("a known network").raise(shape, &site(&spelled));
    raised.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Carries bytes from one container to another's address and back.
fn exchange(name: &str, client: &dyn Container, server: &dyn Container, listen: &str, dial: &str) {
    let (mut serving, line) = start(server, &["serve", listen]);
    assert_eq!(line, "listening", "{name}");
    let (mut dialling, line) = start(client, &["dial", dial]);
    assert_eq!(line, "100000", "{name}: all bytes came back from {dial}");
    assert_eq!(dialling.wait().unwrap(), Exit::Code(0), "{name}");
    assert_eq!(serving.wait().unwrap(), Exit::Code(0), "{name}");
}

pub(crate) fn exchange_over_routes(name: &str, topology: &Topology) {
    for route in &topology.routes {
        let client = topology.clients[route.client].as_ref();
        let server = topology.servers[route.server].as_ref();
        exchange(name, client, server, &route.listen.to_string(), &route.dial.to_string());
    }
}

pub(crate) fn there_are_some() {
    let names = joining();
    let sure = ["host", "published", "routed", "vxlan", "calico", "calico-vxlan"];
    for name in sure.into_iter().chain(["weave-sleeve", "weave-sleeve-encrypted"]) {
        assert!(names.contains(&name), "{name} runs here: {names:?}");
    }
    // Their daemons make TUN devices.
    for name in ["ipsec-user", "ovs-user-vxlan"] {
        assert_eq!(names.contains(&name), may_switch(), "{name}: {names:?}");
    }
    // Those that `make setup` builds.
    let has = |name| tare_lab::program::find(name).is_some();
    for (name, runs) in [
        ("flannel-vxlan", has("flanneld")),
        ("flannel-host-gw", has("flanneld")),
        ("flannel-udp", has("flanneld") && may_switch()),
        ("wireguard-user", has("wireguard-go") && may_switch()),
    ] {
        assert_eq!(names.contains(&name), runs, "{name}: {names:?}");
    }
    assert_eq!(places().len(), 12);
}

pub(crate) fn two_carry_tcp_over_ipv4() {
    two_carry_tcp(Family::Ipv4);
}

pub(crate) fn two_carry_tcp_over_ipv6() {
    two_carry_tcp(Family::Ipv6);
}

fn two_carry_tcp(family: Family) {
    let lab = enter();
    for name in speaking(family) {
        let shape = Shape { servers: 2, clients: 3, family, ..two() };
        let topology = raise(&lab, name, &shape);
        assert_eq!((topology.routes.len(), topology.nodes.len()), (6, 2), "{name}");
        exchange_over_routes(name, &topology);
    }
}

pub(crate) fn places_carry_tcp_on_one_node_and_on_two() {
    let lab = enter();
    for name in places() {
        for nodes in [1, 2] {
            if nodes == 1 && name == "bridge/published" {
                continue;
            }
            let shape = Shape { nodes, servers: 2, clients: 2, ..Shape::default() };
            exchange_over_routes(name, &raise_any(&lab, name, &shape));
        }
    }
}

/// Three nodes with a container each: everybody reaches everybody by their own address.
pub(crate) fn of_three_all_reach_all() {
    let lab = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        for name in speaking(family) {
            let shape = Shape { nodes: 3, clients: 2, family, ..Shape::default() };
            let topology = raise(&lab, name, &shape);
            // A published server is reached by its port and by nothing else.
            if name == "published" {
                exchange_over_routes(name, &topology);
                continue;
            }
            let all: Vec<&dyn Container> =
                topology.clients.iter().chain(&topology.servers).map(AsRef::as_ref).collect();
            let port = topology.routes[0].listen.port();
            for (one, client) in all.iter().enumerate() {
                for (other, server) in all.iter().enumerate().filter(|(other, _)| *other != one) {
                    let address = std::net::SocketAddr::new(server.address(), port).to_string();
                    let name = format!("{name} {family} {one}->{other}");
                    exchange(&name, *client, *server, &address, &address);
                }
            }
        }
    }
}

/// Packets of a kind that have come to a node since the count began, by a rule of its own.
pub(crate) struct Count<'a> {
    node: &'a dyn Container,
}

impl<'a> Count<'a> {
    pub(crate) fn of(node: &'a dyn Container, matching: &str) -> Self {
        let rules = format!(
            "table inet tare_test {{\nchain input {{\ntype filter hook prerouting priority -400;\n\
             {matching} counter\n}}\n}}"
        );
        let nft = tare_lab::program::find("nft").expect("nft is installed");
        output(node, &nft, &[&rules]);
        Self { node }
    }

    fn packets(&self) -> u64 {
        self.number("counter packets ")
    }

    /// How many bytes they have, with their headers.
    pub(crate) fn bytes(&self) -> u64 {
        self.number(" bytes ")
    }

    fn number(&self, before: &str) -> u64 {
        let nft = tare_lab::program::find("nft").expect("nft is installed");
        let text = output(self.node, &nft, &["list", "table", "inet", "tare_test"]);
        let rest = text.split(before).nth(1).expect("it counts");
        rest.split_whitespace().next().and_then(|count| count.parse().ok()).expect("a number")
    }
}

/// What is on the underlay is what the network's name says, and nothing of it where there should be none.
pub(crate) fn packets_are_wrapped_as_the_name_says() {
    let lab = enter();
    let cases = [
        ("vxlan", "udp dport 4789", true),
        ("calico-vxlan", "udp dport 4789", true),
        ("routed", "udp dport 4789", false),
        ("routed", "iifname eth0 ip saddr 10.100.0.2", true),
        ("calico", "iifname eth0 ip saddr 10.100.0.1", true),
        ("vxlan", "iifname eth0 ip saddr 10.60.0.0/16", false),
        ("ipsec-user", "iifname eth0 udp dport 4500", true),
        ("ipsec-user", "iifname eth0 ip saddr 10.100.0.2", false),
        ("wireguard-user", "iifname eth0 udp dport 51820", true),
        ("wireguard-user", "iifname eth0 ip saddr 10.100.0.2", false),
        ("flannel-vxlan", "udp dport 8472", true),
        ("flannel-vxlan", "iifname eth0 ip saddr 10.100.0.2", false),
        ("flannel-udp", "iifname eth0 udp dport 8285", true),
        ("flannel-udp", "iifname eth0 ip saddr 10.100.0.2", false),
        ("flannel-host-gw", "iifname eth0 ip saddr 10.100.0.2", true),
        ("weave-sleeve", "iifname eth0 udp dport 6783", true),
        ("weave-sleeve", "iifname eth0 ip saddr 10.60.0.2", false),
        ("weave-sleeve-encrypted", "iifname eth0 udp dport 6783", true),
        ("weave-sleeve-encrypted", "iifname eth0 ip saddr 10.60.0.2", false),
        ("ovs-user-vxlan", "iifname eth0 udp dport 4789", true),
        ("ovs-user-vxlan", "iifname eth0 ip saddr 10.60.0.2", false),
        ("ovs-bridge-vxlan", "iifname eth0 udp dport 4789", true),
        ("bridge/host", "iifname eth0 ip saddr 10.20.0.1", true),
        ("bridge/host", "iifname eth0 ip saddr 10.100.0.0/16", false),
    ];
    let cases_v6 = [
        ("flannel-vxlan", "iifname eth0 ip6 daddr fd00:0:0:14::/64 udp dport 8472", true),
        ("flannel-vxlan", "iifname eth0 ip6 saddr fd00:0:0:64::/64", false),
        ("flannel-host-gw", "iifname eth0 ip6 saddr fd00:0:0:64::2", true),
    ];
    let here = joining();
    let here = |name: &str| name.contains('/') || here.contains(&name);
    let both = cases
        .map(|case| (case, Family::Ipv4))
        .into_iter()
        .chain(cases_v6.map(|case| (case, Family::Ipv6)));
    for ((name, matching, passes), family) in both.filter(|((name, ..), _)| here(name)) {
        let topology = raise_any(&lab, name, &Shape { family, ..two() });
        let count = Count::of(topology.nodes[1].as_ref(), matching);
        exchange_over_routes(name, &topology);
        assert_eq!(count.packets() > 0, passes, "{name}: {matching}");
    }
}

pub(crate) fn vxlan_names_its_hops() {
    let topology = raise(&enter(), "vxlan", &two());
    let expected = [
        "client-0:eth0 Veth",
        "overlay-0:veth-c0 Veth",
        "overlay-0:br0 Bridge",
        "overlay-0:vxlan0 Encapsulation",
        "node-0:eth0 Veth",
        "underlay:veth-n0 Veth",
        "underlay:underlay0 Bridge",
        "underlay:veth-n1 Veth",
        "node-1:eth0 Veth",
        "overlay-1:vxlan0 Encapsulation",
        "overlay-1:br0 Bridge",
        "overlay-1:veth-s0 Veth",
        "server-0:eth0 Veth",
    ];
    assert_eq!(path(&topology), expected);
}

pub(crate) fn a_link_is_as_slow_as_it_is_told() {
    let lab = enter();
    let shape = Shape { link: Some("rate=100mbit".to_owned()), ..two() };
    for name in ["host", "vxlan"] {
        let topology = raise(&lab, name, &shape);
        let queues = topology.hops.iter().filter(|hop| hop.kind == HopKind::Queue).count();
        assert_eq!(queues, 2, "{name}: at the node, and at the switch's port");
        println!("  {name}:");
        // VXLAN's headers are on the link too.
        is_limited(&topology, ["swallow", "pour"], 85.0);
    }
}

/// The commands of processes that this process has started.
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("it has threads");
    let mut all = Vec::new();
    for task in tasks {
        let children = task.expect("it is listed").path().join("children");
        let text = std::fs::read_to_string(children).unwrap_or_default();
        for child in text.split_whitespace() {
            let line =
                std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            all.push(line.replace('\0', " ").trim_end().to_owned());
        }
    }
    all
}

pub(crate) fn a_background_load_runs_as_long_as_the_network() {
    let lab = enter();
    let burning = || children().iter().filter(|line| *line == "tare burn").count();
    let shape = Shape { background: Some("cpu=3".to_owned()), ..two() };
    let topology = raise(&lab, "host", &shape);
    assert_eq!(burning(), 3, "{:?}", children());
    drop(topology);
    assert_eq!(burning(), 0, "{:?}", children());
}

pub(crate) fn shapes_that_nodes_do_not_have_are_refused() {
    let lab = enter();
    let registry = Registry::new(networks(Some(lab)));
    let cases = [
        ("vxlan", Shape::default(), "joins 2 to 32 nodes"),
        ("host", Shape { nodes: 33, ..Shape::default() }, "joins 1 to 32 nodes"),
        ("routed", Shape { link: Some("fast".to_owned()), ..two() }, "no link"),
        ("bridge", two(), "one node"),
    ];
    for (name, shape, why) in cases {
        let spelled: Spelled = name.parse().unwrap();
        let error = registry.find(&spelled).unwrap().raise(&shape, &site(&spelled)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// Where the server is as its client sees it, when the network is built by the commands.
pub(crate) fn client_and_server(name: &str, family: Family) -> (&'static str, &'static str) {
    let either = |ipv4, ipv6| if family == Family::Ipv4 { ipv4 } else { ipv6 };
    match name {
        // Ping passes no published port: it tries the node's own address.
        "host" | "published" => ("node-0", either("10.20.1.1", "fd00:0:0:14::101")),
        "vxlan"
        | "ovs-vxlan"
        | "ovs-user-vxlan"
        | "ovs-bridge-vxlan"
        | "weave-sleeve"
        | "weave-sleeve-encrypted"
        | "weave-fastdp" => ("client-0", either("10.60.0.2", "fd00:0:0:3c::2")),
        "calico" | "calico-vxlan" => ("client-0", either("10.101.0.1", "fd00:0:0:65::1")),
        _ => ("client-0", either("10.101.0.2", "fd00:0:0:65::2")),
    }
}

pub(crate) fn the_shown_commands_build_it() {
    for family in [Family::Ipv4, Family::Ipv6] {
        for name in speaking(family) {
            let (client, server) = client_and_server(name, family);
            scripts::ping(name, &Shape { family, ..two() }, Some(client), server);
        }
    }
}
