//! Networks of Docker Engine 29: packets take the path that each is named after, through the rules of the engine's firewall.

use serde_json::Value;
use support::counts::total;
use support::engine::release::{Engine29, Firewall, VERSION};
use support::shared::SharedResource as _;
use support::{hops, list, text};

/// Returns the path between two containers on a bridge.
fn bridged<F: Firewall>(engine: &Engine29<F>, bridge: &str) -> Vec<String> {
    let mut path = vec!["client-0:eth0".to_owned(), format!("node-0:{bridge}")];
    if engine.filters_bridged_packets() {
        path.push("node-0:nf_conntrack".to_owned());
        path.push(format!("node-0:{}", F::FORWARD_RULES));
    }
    path.push("server-0:eth0".to_owned());
    path
}

/// Returns a path between containers that have the engine's DNS server: its rules make their namespaces track connections
/// of IPv4.
fn with_dns_rules(path: Vec<String>) -> Vec<String> {
    let tracking = |place: &str| format!("{place}:nf_conntrack");
    [vec![tracking("client-0")], path, vec![tracking("server-0")]].concat()
}

fn published<F: Firewall>() -> Vec<String> {
    ["node-0:".to_owned() + F::PORT_RULES, "node-0:docker0".to_owned(), "server-0:eth0".to_owned()]
        .to_vec()
}

/// Returns the hops of a network, with the name of a bridge that a run has made left out.
fn path(document: &Value, network: &str) -> Vec<String> {
    let is_own = |hop: &str| hop.starts_with("node-0:br-");
    let hops = hops(document, network).into_iter();
    hops.map(|hop| if is_own(&hop) { "node-0:br-".to_owned() } else { hop }).collect()
}

/// Checks that networks are measured. Whether a short trial has a figure is the machine's affair: a busy one stalls.
pub(crate) fn assert_measured(document: &Value, networks: &[&str]) {
    for key in ["skipped", "failed"] {
        assert_eq!(list(document, key), [] as [Value; 0]);
    }
    for network in networks {
        let is_its = |cell: &Value| cell["network"] == *network && cell["metric"] == "throughput";
        let cell = list(document, "cells").iter().find(|cell| is_its(cell)).expect("a cell");
        let is_told = cell["withheld"]["reason"].is_string();
        assert!(cell["blocks"] == serde_json::json!([0]) || is_told, "{network}: {cell}");
    }
}

pub(crate) fn all_are_weighed_in_one_run<F: Firewall>() {
    let engine = Engine29::<F>::shared();
    let before = engine.inventory();
    let translated = engine.translated();
    let bridge = |name| bridged(&engine, name);
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let cases = [
        // The rules of the engine make its machine track connections.
        ("docker:host", own(&["client-0:nf_conntrack", "client-0:lo"])),
        ("docker:bridge", bridge("docker0")),
        ("docker:user-bridge", with_dns_rules(bridge("br-"))),
        ("docker:published", published::<F>()),
        ("docker:link", bridge("docker0")),
        ("docker:container", own(&["client-0:lo"])),
        ("docker:macvlan", with_dns_rules(own(&["client-0:eth0", "node-0:eth0", "server-0:eth0"]))),
    ];
    let names: Vec<&str> = cases.iter().map(|(network, _)| *network).collect();
    let document = engine.run_once(&names.join(","), &[]);
    for (network, expected) in cases {
        assert_eq!(path(&document, network), expected, "{network}");
    }
    assert_measured(&document, &names);
    let received = total(&engine.scratch().path(&names.join(",")), "tcp-stream", "received");
    assert!(received > 0, "{document}");
    assert!(engine.translated() > translated, "no connection has met the engine's rules");
    assert_eq!(engine.inventory(), before);
    let stated = &list(&document["environment"], "engines")[0];
    assert_eq!((text(stated, "firewall"), text(stated, "version")), (F::NAME, VERSION));
    let chain = |hop: &&Value| hop["name"] == F::FORWARD_RULES;
    if let Some(hop) = list(&list(&document, "cells")[1], "hops").iter().find(chain) {
        let expected = (F::NAME == "nftables").then_some("chain filter-forward-in__docker0");
        assert_eq!(hop["detail"].as_str(), expected, "{hop}");
    }
}

pub(crate) fn ipv6_takes_the_same_path<F: Firewall>() {
    let engine = Engine29::<F>::shared();
    let before = engine.inventory();
    let networks = ["docker:bridge", "docker:user-bridge", "docker:published"];
    let more = ["--family", "ipv6", "--baseline", "docker:bridge"];
    let document = engine.run_once(&networks.join(","), &more);
    let paths = [bridged(&engine, "docker0"), bridged(&engine, "br-"), published::<F>()];
    for (network, expected) in networks.into_iter().zip(paths) {
        assert_eq!(path(&document, network), expected, "{network}");
    }
    assert_measured(&document, &networks);
    assert_eq!(engine.inventory(), before);
}

/// Of a network whose gateway mode is `routed`, the engine translates no address.
pub(crate) fn a_network_without_translation_is_used_by_its_name<F: Firewall>() {
    const ROUTED: &str = "com.docker.network.bridge.gateway_mode_ipv4=routed";
    let engine = Engine29::<F>::shared();
    engine.docker(&["network", "create", "--opt", ROUTED, "of-mine"]);
    let before = engine.inventory();
    let document = engine.run_once("docker:NETWORK=of-mine", &[]);
    let expected = with_dns_rules(bridged(&engine, "br-"));
    assert_eq!(path(&document, "docker:NETWORK=of-mine"), expected);
    assert_measured(&document, &["docker:NETWORK=of-mine"]);
    assert_eq!(engine.inventory(), before, "the user's own network stays");
    engine.docker(&["network", "rm", "of-mine"]);
}
