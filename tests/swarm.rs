//! Networks of a Swarm, on three machines of the tests' own: that packets take the path that each is named after, that
//! tasks are accounted for, and that nothing of a run remains, however it ends.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use rustix::process::Signal;
use serde_json::Value;
use support::engine::Engine;
use support::program::Outcome;
use support::swarm::Swarm;
use support::{list, short_run, text};

/// The arguments of a run of networks over TCP on two nodes; its directory is named after them.
fn asked<'a>(networks: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["--network", networks, "--workload", "tcp-stream", "--blocks", "1", "--json"];
    short_run(&[&asked[..], &["--out", networks, "--nodes", "2"], more].concat())
}

/// Runs networks once, and gives the document.
#[track_caller]
fn once(swarm: &Swarm, networks: &str, more: &[&str]) -> Value {
    swarm.run(&asked(networks, more)).expect(0).json()
}

/// The hops of a network in a document, as `place:name`.
fn hops(document: &Value, network: &str) -> Vec<String> {
    let cell = list(document, "cells")
        .iter()
        .find(|cell| cell["network"] == network)
        .unwrap_or_else(|| panic!("{network} is in {document}"));
    list(cell, "hops")
        .iter()
        .map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name")))
        .collect()
}

/// Counts what comes to a machine by its underlay and holds these words of a rule; returns the count so far.
fn counted(engine: &Engine, rule: &str) -> u64 {
    let have = format!("iptables --table mangle --check INPUT {rule} 2>/dev/null");
    engine.said(&format!("{have} || iptables --table mangle --append INPUT {rule}"));
    let rules = engine.said("iptables --table mangle --list-rules INPUT --verbose");
    let line = rules.lines().find(|line| line.contains(rule));
    let line = line.unwrap_or_else(|| panic!("`{rule}` is in\n{rules}"));
    let counted = line.split("-c ").nth(1).and_then(|rest| rest.split(' ').next());
    counted.and_then(|packets| packets.parse().ok()).expect("a rule with its counter")
}

/// What VXLAN's packets are to iptables.
const VXLAN: &str = "-i eth0 -p udp -m udp --dport 4789";

/// Far more packets than tasks need to come home and be told what to do, far fewer than a trial of gigabits has.
const MANY: u64 = 3_000;

#[test]
fn what_crosses_an_overlay_is_vxlan_on_the_underlay_and_nothing_else_is() {
    let swarm = Swarm::start();
    let before = swarm.everything();
    for (network, encapsulated) in [
        ("swarm:overlay", true),
        ("swarm:host", false),
        ("swarm:published-host", false),
        ("swarm:gwbridge", false),
    ] {
        let worker = swarm.engine(1);
        let counted_before = counted(worker, VXLAN);
        let document = once(&swarm, network, &[]);
        let passed = counted(worker, VXLAN) - counted_before;
        assert_eq!(passed > MANY, encapsulated, "{network}: {passed} packets: {document}");
        let hops = hops(&document, network);
        let has_tunnel = hops.iter().any(|hop| hop == "node-0:vxlan0");
        assert_eq!(has_tunnel, encapsulated, "{network}: {hops:?}");
        swarm.wait_for("nothing is left", |swarm| swarm.everything() == before);
    }
}
