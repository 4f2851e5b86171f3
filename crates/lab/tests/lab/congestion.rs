//! Tests of the default TCP congestion control of namespaces: that of the run, whatever the machine's own is.

use crate::cases::{enter, output, raise, site};
use crate::harness::Case;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tare_lab::networks;
use tare_network::{Container, NetworkParameters, NetworkRegistry, NetworkSpec, Shape, Topology};
use tare_sandbox::Sandbox;

/// File of the default control of the reader's namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Networks with one node, and with two; of devices alone, and with a program that forwards.
const NETWORKS: [(&str, u32); 5] =
    [("host", 1), ("shared", 1), ("bridge-plain", 1), ("published-proxy", 1), ("routed", 2)];

pub(crate) fn all() -> Vec<Case> {
    let of = |(name, nodes)| {
        Case::of_network("every_namespace_has_the_default_asked_for", name, move |name| {
            has_the_default_asked_for(name, nodes);
        })
    };
    let mut cases: Vec<Case> = NETWORKS.into_iter().map(of).collect();
    cases.push(Case::new("the_callers_default_stays", the_callers_default_stays));
    cases
}

/// Returns the default control in a container.
fn default_in(container: &dyn Container) -> String {
    output(container, Path::new("/bin/cat"), &[DEFAULT]).trim().to_owned()
}

/// Returns the default controls of all containers and nodes of a network, each once.
fn defaults(topology: &Topology) -> Vec<String> {
    let all = topology.servers.iter().chain(&topology.clients).chain(&topology.nodes);
    let mut found: Vec<String> = all.map(|one| default_in(one.as_ref())).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns a control that a namespace may have as its default, another one than it has without being asked, if the kernel
/// has two.
fn other_control(usual: &str) -> String {
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let allowed = allowed.expect("the kernel has TCP");
    let other = allowed.split_whitespace().find(|name| *name != usual);
    other.unwrap_or(usual).to_owned()
}

fn raise_with(sandbox: &Arc<Sandbox>, name: &str, shape: &Shape, control: &str) -> Topology {
    let spelled: NetworkSpec = name.parse().expect("a good name");
    let registry = NetworkRegistry::new(networks(Some(Arc::clone(sandbox))));
    let site = NetworkParameters { congestion: Some(control.to_owned()), ..site(&spelled) };
    let network = registry.find(&spelled).expect("a known network");
    network.set_up(shape, &site).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn has_the_default_asked_for(name: &str, nodes: u32) {
    let sandbox = enter();
    let shape = Shape { nodes, servers: 2, clients: 2, ..Shape::default() };
    let usual = defaults(&raise(&sandbox, name, &shape));
    assert_eq!(usual.len(), 1, "{usual:?}");
    let asked = other_control(&usual[0]);
    assert_eq!(defaults(&raise_with(&sandbox, name, &shape, &asked)), [asked]);
}

fn the_callers_default_stays() {
    let own = || fs::read_to_string(DEFAULT).expect("the kernel has TCP").trim().to_owned();
    let before = own();
    let sandbox = enter();
    let asked = other_control(&before);
    let topology = raise_with(&sandbox, "native", &Shape::default(), &asked);
    assert_eq!(default_in(topology.clients[0].as_ref()), before);
    let beside = raise_with(&sandbox, "loopback", &Shape::default(), &asked);
    assert_eq!((defaults(&beside), own()), (vec![asked], before));
}
