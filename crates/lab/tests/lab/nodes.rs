//! Tests with several nodes: every network that joins them carries traffic, by the path that its name promises.

use crate::cases::{enter, path, raise, site};
use crate::container_programs::start;
use crate::daemons::may_open_tun;
use crate::harness::Case;
use crate::scripts;
use std::sync::Arc;
use tare_lab::{networks, pairs};
use tare_network::{Container, Family, NetworkRegistry, NetworkSpec, ProcessExit, Shape, Topology};
use tare_sandbox::{KernelProbe, Sandbox};

/// Returns the networks that join nodes, as users spell them, without `CLIENT/SERVER`.
fn multi_node_networks() -> Vec<&'static str> {
    let registry = NetworkRegistry::new(networks(None));
    let all = registry.names();
    let joins = |name: &&str| {
        let spelled: NetworkSpec = name.parse().expect("a good name");
        registry.find(&spelled).is_ok_and(|network| network.nodes().contains(&2))
    };
    all.into_iter().filter(joins).collect()
}

/// Returns the networks that join nodes and whose containers support an address family.
fn networks_of_family(family: Family) -> Vec<&'static str> {
    const IPV4_ALONE: [&str; 6] =
        ["ipip", "calico-ipip", "ipsec", "ipsec-user", "flannel-udp", "flannel-ipip"];
    let alone = |name: &str| IPV4_ALONE.contains(&name);
    let speaks = |name: &&str| family == Family::Ipv4 || !alone(name);
    multi_node_networks().into_iter().filter(speaks).collect()
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        Case::new("networks_that_join_nodes_are_there", there_are_some),
        Case::new("vxlan_names_its_hops", vxlan_names_its_hops),
        Case::new("a_background_load_runs_beside", a_background_load_runs_as_long_as_the_network),
        Case::new("shapes_without_nodes_are_refused", shapes_that_nodes_do_not_have_are_refused),
    ];
    for family in [Family::Ipv4, Family::Ipv6] {
        for name in networks_of_family(family) {
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
    let apart = placement_pairs().into_iter().flat_map(|name| [(name, 1), (name, 2)]);
    // A published port is on the node's own address: with one node, there is no client outside of it.
    let apart = apart.filter(|place| *place != ("bridge/published", 1));
    let filtered = [
        "bridge/published+firewall=nftables",
        "published+firewall=nftables",
        "published+idle=3+ports=2",
    ];
    let apart = apart.chain(filtered.map(|name| (name, 2)));
    cases.extend(apart.map(|(name, nodes)| {
        let case = format!("places_carry_tcp::{name}/{nodes}");
        Case::new(case, move || places_carry_tcp(name, nodes)).on(name)
    }));
    cases
}

/// Returns the names of the networks `CLIENT/SERVER` that join nodes.
fn placement_pairs() -> Vec<&'static str> {
    let all = pairs(None);
    let join = all.iter().filter(|pair| pair.nodes().contains(&2));
    join.map(|pair| pair.info().name).collect()
}

pub(crate) fn two_nodes() -> Shape {
    Shape { nodes: 2, ..Shape::default() }
}

pub(crate) fn two_ipv6_nodes() -> Shape {
    Shape { family: Family::Ipv6, ..two_nodes() }
}

/// Raises any network, also `CLIENT/SERVER`.
pub(crate) fn raise_any(sandbox: &Arc<Sandbox>, name: &str, shape: &Shape) -> Topology {
    let spelled: NetworkSpec = name.parse().expect("a good name");
    let registry = NetworkRegistry::new(networks(Some(Arc::clone(sandbox))))
        .with_opt_in(pairs(Some(Arc::clone(sandbox))));
    let raised = registry.find(&spelled).expect("a known network").set_up(shape, &site(&spelled));
    raised.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Sends bytes from one container to another's address and back.
fn exchange(name: &str, client: &dyn Container, server: &dyn Container, listen: &str, dial: &str) {
    let (mut serving, line) = start(server, &["serve", listen]);
    assert_eq!(line, "listening", "{name}");
    let (mut dialling, line) = start(client, &["dial", dial]);
    assert_eq!(line, "100000", "{name}: all bytes came back from {dial}");
    assert_eq!(dialling.wait().unwrap(), ProcessExit::Code(0), "{name}");
    assert_eq!(serving.wait().unwrap(), ProcessExit::Code(0), "{name}");
}

pub(crate) fn exchange_over_routes(name: &str, topology: &Topology) {
    for route in &topology.routes {
        let client = topology.clients[route.client].as_ref();
        let server = topology.servers[route.server].as_ref();
        exchange(name, client, server, &route.listen.to_string(), &route.dial.to_string());
    }
}

/// The probe finds the networks that every kernel here supports; the others depend on what is installed.
fn there_are_some() {
    let listing = NetworkRegistry::new(networks(None)).availability(&KernelProbe::default());
    let runs =
        |name: &str| listing.iter().any(|one| one.about.name == name && one.missing.is_none());
    let sure = ["host", "published", "routed", "vxlan", "calico", "calico-vxlan"];
    for name in sure.into_iter().chain(["weave-sleeve", "weave-sleeve-encrypted"]) {
        assert!(runs(name), "{name} runs here");
    }
    // The daemons of these networks create TUN devices.
    for name in ["ipsec-user", "ovs-user-vxlan"] {
        assert_eq!(runs(name), may_open_tun(), "{name}");
    }
    // The programs of these networks are built by `make setup`.
    let has = |name| tare_sandbox::program::find(name).is_some();
    for (name, expected) in [
        ("flannel-vxlan", has("flanneld")),
        ("flannel-host-gw", has("flanneld")),
        ("flannel-udp", has("flanneld") && may_open_tun()),
        ("wireguard-user", has("wireguard-go") && may_open_tun()),
    ] {
        assert_eq!(runs(name), expected, "{name}");
    }
    assert_eq!(placement_pairs().len(), 12);
}

fn two_carry_tcp(name: &str, family: Family) {
    let shape = Shape { servers: 2, clients: 3, family, ..two_nodes() };
    let topology = raise(&enter(), name, &shape);
    assert_eq!((topology.routes.len(), topology.nodes.len()), (6, 2));
    exchange_over_routes(name, &topology);
}

fn places_carry_tcp(name: &str, nodes: u32) {
    let shape = Shape { nodes, servers: 2, clients: 2, ..Shape::default() };
    exchange_over_routes(name, &raise_any(&enter(), name, &shape));
}

/// Three nodes with a container each: each container reaches all others by their own addresses.
fn of_three_all_reach_all(name: &str, family: Family) {
    let shape = Shape { nodes: 3, clients: 2, family, ..Shape::default() };
    let topology = raise(&enter(), name, &shape);
    // A published server is reached by its port only.
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
    let topology = raise(&enter(), "vxlan", &two_nodes());
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

/// Returns the command lines of this process's children.
fn child_commands() -> Vec<String> {
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
    let sandbox = enter();
    let burning =
        || child_commands().iter().filter(|line| *line == "tare internal cpu-load").count();
    let shape = Shape { background: Some("cpu=3".to_owned()), ..two_nodes() };
    let topology = raise(&sandbox, "host", &shape);
    assert_eq!(burning(), 3, "{:?}", child_commands());
    drop(topology);
    assert_eq!(burning(), 0, "{:?}", child_commands());
}

fn shapes_that_nodes_do_not_have_are_refused() {
    let sandbox = enter();
    let registry = NetworkRegistry::new(networks(Some(sandbox)));
    let cases = [
        ("vxlan", Shape::default(), "connects 2 to 32 nodes"),
        ("host", Shape { nodes: 33, ..Shape::default() }, "connects 1 to 32 nodes"),
        ("routed", Shape { link: Some("fast".to_owned()), ..two_nodes() }, "invalid link `fast`"),
        ("bridge", two_nodes(), "one node"),
    ];
    for (name, shape, why) in cases {
        let spelled: NetworkSpec = name.parse().unwrap();
        let error = registry.find(&spelled).unwrap().set_up(&shape, &site(&spelled)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// Returns the namespace of the client, and the server's address as this client sees it, in a network built by the
/// commands.
pub(crate) fn client_and_server(name: &str, family: Family) -> (&'static str, &'static str) {
    let either = |ipv4, ipv6| if family == Family::Ipv4 { ipv4 } else { ipv6 };
    match name {
        // Ping does not pass a published port, so it tries the node's own address.
        "host" | "published" => ("node-0", either("10.20.1.1", "fd00:0:0:14::101")),
        "vxlan"
        | "ovs-vxlan"
        | "ovs-user-vxlan"
        | "ovs-bridge-vxlan"
        | "ovs-user-bridge-vxlan"
        | "weave-sleeve"
        | "weave-sleeve-encrypted"
        | "weave-fastdp" => ("client-0", either("10.60.0.2", "fd00:0:0:3c::2")),
        "calico" | "calico-vxlan" => ("client-0", either("10.101.0.1", "fd00:0:0:65::1")),
        _ => ("client-0", either("10.101.0.2", "fd00:0:0:65::2")),
    }
}

fn the_shown_commands_build_it(name: &str, family: Family) {
    let (client, server) = client_and_server(name, family);
    scripts::ping(name, &Shape { family, ..two_nodes() }, Some(client), server);
}
