//! Several nodes: every network that joins them carries traffic, and by the path that its name promises.

use crate::actors::start;
use crate::cases::{enter, path, raise, site};
use crate::daemons::may_switch;
use crate::harness::Case;
use crate::{rates, scripts};
use std::sync::Arc;
use tare_lab::{KernelProbe, Lab, networks, pairs};
use tare_network::{Container, Exit, Family, HopKind, Registry, Shape, Spelled, Topology};

/// Networks that join nodes, as users spell them, but for `CLIENT/SERVER`.
fn joining() -> Vec<&'static str> {
    let registry = Registry::new(networks(None));
    let all = registry.names();
    let joins = |name: &&str| {
        let spelled: Spelled = name.parse().expect("a good name");
        registry.find(&spelled).is_ok_and(|network| network.nodes().contains(&2))
    };
    all.into_iter().filter(joins).collect()
}

/// Those of them whose containers speak this family.
fn speaking(family: Family) -> Vec<&'static str> {
    const IPV4_ALONE: [&str; 6] =
        ["ipip", "calico-ipip", "ipsec", "ipsec-user", "flannel-udp", "flannel-ipip"];
    let alone = |name: &str| IPV4_ALONE.contains(&name);
    let speaks = |name: &&str| family == Family::Ipv4 || !alone(name);
    joining().into_iter().filter(speaks).collect()
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        Case::new("networks_that_join_nodes_are_there", there_are_some),
        Case::new("vxlan_names_its_hops", vxlan_names_its_hops),
        Case::new("a_background_load_runs_beside", a_background_load_runs_as_long_as_the_network),
        Case::new("shapes_without_nodes_are_refused", shapes_that_nodes_do_not_have_are_refused),
    ];
    for family in [Family::Ipv4, Family::Ipv6] {
        for name in speaking(family) {
            let of = |case: &str, body: fn(&str, Family)| {
                Case::of_network(&format!("{case}_over_{family}"), name, move |name| {
                    body(name, family);
                })
            };
            cases.push(of("two_nodes_carry_tcp", two_carry_tcp));
            cases.push(of("of_three_nodes_all_reach_all", of_three_all_reach_all));
            cases.push(of("the_shown_commands_join_two_nodes", the_shown_commands_build_it));
        }
    }
    for name in ["host", "vxlan"] {
        let of = |case: &str, body: fn(&str)| Case::of_network(case, name, body);
        cases.push(of("a_link_lets_no_more_through_than_it_is_told", a_link_limits));
        cases
            .push(of("measures::a_link_is_as_fast_as_it_is_told", a_link_is_as_fast_as_it_is_told));
    }
    let apart = places().into_iter().flat_map(|name| [(name, 1), (name, 2)]);
    // The address of a published port is the node's own: one node has no client outside of it.
    let apart = apart.filter(|place| *place != ("bridge/published", 1));
    cases.extend(apart.map(|(name, nodes)| {
        let case = format!("places_carry_tcp::{name}/{nodes}");
        Case::new(case, move || places_carry_tcp(name, nodes)).on(name)
    }));
    cases
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
pub(crate) fn raise_any(lab: &Arc<Lab>, name: &str, shape: &Shape) -> Topology {
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

/// The probe finds the networks that every kernel here carries; the others need what it says.
fn there_are_some() {
    let listing = Registry::new(networks(None)).listing(&KernelProbe::default());
    let runs =
        |name: &str| listing.iter().any(|one| one.about.name == name && one.missing.is_none());
    let sure = ["host", "published", "routed", "vxlan", "calico", "calico-vxlan"];
    for name in sure.into_iter().chain(["weave-sleeve", "weave-sleeve-encrypted"]) {
        assert!(runs(name), "{name} runs here");
    }
    // Their daemons make TUN devices.
    for name in ["ipsec-user", "ovs-user-vxlan"] {
        assert_eq!(runs(name), may_switch(), "{name}");
    }
    // Those that `make setup` builds.
    let has = |name| tare_lab::program::find(name).is_some();
    for (name, expected) in [
        ("flannel-vxlan", has("flanneld")),
        ("flannel-host-gw", has("flanneld")),
        ("flannel-udp", has("flanneld") && may_switch()),
        ("wireguard-user", has("wireguard-go") && may_switch()),
    ] {
        assert_eq!(runs(name), expected, "{name}");
    }
    assert_eq!(places().len(), 12);
}

fn two_carry_tcp(name: &str, family: Family) {
    let shape = Shape { servers: 2, clients: 3, family, ..two() };
    let topology = raise(&enter(), name, &shape);
    assert_eq!((topology.routes.len(), topology.nodes.len()), (6, 2));
    exchange_over_routes(name, &topology);
}

fn places_carry_tcp(name: &str, nodes: u32) {
    let shape = Shape { nodes, servers: 2, clients: 2, ..Shape::default() };
    exchange_over_routes(name, &raise_any(&enter(), name, &shape));
}

/// Three nodes with a container each: everybody reaches everybody by their own address.
fn of_three_all_reach_all(name: &str, family: Family) {
    let shape = Shape { nodes: 3, clients: 2, family, ..Shape::default() };
    let topology = raise(&enter(), name, &shape);
    // A published server is reached by its port and by nothing else.
    if name == "published" {
        return exchange_over_routes(name, &topology);
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

fn vxlan_names_its_hops() {
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

/// A network over a link of 100 Mbit/s, whose queues are at the node and at the switch's port.
fn over_a_link(name: &str) -> Topology {
    let shape = Shape { link: Some("rate=100mbit".to_owned()), ..two() };
    let topology = raise(&enter(), name, &shape);
    let queues = topology.hops.iter().filter(|hop| hop.kind == HopKind::Queue).count();
    assert_eq!(queues, 2, "at the node, and at the switch's port");
    topology
}

fn a_link_limits(name: &str) {
    rates::is_limited(&over_a_link(name), ["swallow", "pour"]);
}

fn a_link_is_as_fast_as_it_is_told(name: &str) {
    // VXLAN's headers are on the link too.
    rates::is_used(&over_a_link(name), ["swallow", "pour"], 85.0);
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

fn a_background_load_runs_as_long_as_the_network() {
    let lab = enter();
    let burning = || children().iter().filter(|line| *line == "tare burn").count();
    let shape = Shape { background: Some("cpu=3".to_owned()), ..two() };
    let topology = raise(&lab, "host", &shape);
    assert_eq!(burning(), 3, "{:?}", children());
    drop(topology);
    assert_eq!(burning(), 0, "{:?}", children());
}

fn shapes_that_nodes_do_not_have_are_refused() {
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

fn the_shown_commands_build_it(name: &str, family: Family) {
    let (client, server) = client_and_server(name, family);
    scripts::ping(name, &Shape { family, ..two() }, Some(client), server);
}
