//! Networks that the host's own kernel does not support, each once on a kernel that does: function only.
//!
//! `make test-system` boots Debian's kernel in a virtual machine, and runs these tests there. The host has determined
//! which networks it does not support, and passes their names in the environment.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use support::ScratchDirectory;
use support::program::Tare;
use support::{list, text};

/// Variable with the names of the networks, separated by commas.
const NETWORKS: &str = "TARE_VM_NETWORKS";

/// Networks for which the kernel of the virtual machine is too old, and the feature that it lacks.
const LACKING: [(&str, &str); 1] = [("netkit", "netkit")];

/// Remedy for programs that `make setup` builds, if the machine can build them.
const BUILT: &str = "make setup";

/// Duration of trials, longer than the kernel's timers: a lost first segment is sent again after 200 ms, or after a
/// second before there is an estimate of the round trip, and a trial that began late has no whole interval.
const DURATION: &str = "2s";

const WORKLOADS: [&str; 3] = ["tcp-stream", "tcp-rr", "udp-rr"];

#[test]
#[ignore = "needs a kernel with all modules: make test-system"]
fn every_network_that_the_machine_cannot_carry_runs_here() {
    let names = std::env::var(NETWORKS).expect("the names of the networks");
    let names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
    assert!(!names.is_empty(), "{NETWORKS} names none: the machine can carry them all");
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for (nodes, together) in by_nodes(&tare, &names) {
        let out = format!("nodes-{nodes}");
        let (nodes, networks) = (nodes.to_string(), together.join(","));
        let workloads = WORKLOADS.join(",");
        let mut arguments = vec!["run", "--network", &networks, "--workload", &workloads];
        arguments.extend(["--blocks", "1", "--duration", DURATION, "--interval", "10ms"]);
        arguments.extend(["--load-modules", "--json", "--out", &out]);
        if nodes != "1" {
            arguments.extend(["--nodes", &nodes]);
        }
        assert_all_run(&together, &tare.run(&arguments).json());
    }
}

/// Groups networks by the least number of nodes that each connects: those with the same number are run together.
fn by_nodes<'a>(tare: &Tare, names: &[&'a str]) -> BTreeMap<u64, Vec<&'a str>> {
    let listed = tare.run(&["list", "networks", "--json"]).expect(0).json();
    let mut groups: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for name in names {
        let row = list(&listed, "networks").iter().find(|row| row["name"] == *name);
        let nodes = row.expect("it is listed")["nodes"][0].as_u64().unwrap_or(1);
        groups.entry(nodes).or_default().push(name);
    }
    groups
}

/// Checks that all of these networks were run, except for those that no such machine supports.
fn assert_all_run(names: &[&str], document: &Value) {
    let mut skipped = BTreeSet::new();
    for one in list(document, "skipped") {
        let (network, reason) = (text(one, "network"), text(one, "reason"));
        let known = LACKING.iter().any(|(name, lacks)| network == *name && reason.contains(lacks));
        assert!(known || text(one, "remedy").contains(BUILT), "{network}: {reason}");
        skipped.insert(network);
    }
    assert_eq!(list(document, "failed"), [] as [Value; 0]);
    for name in names.iter().filter(|name| !skipped.contains(*name)) {
        for workload in WORKLOADS {
            assert_carries(document, name, workload);
        }
    }
    assert_no_verdicts(document);
}

/// Checks that a network has traffic of a workload, over a path that it names.
fn assert_carries(document: &Value, network: &str, workload: &str) {
    let cells: Vec<&Value> = list(document, "cells")
        .iter()
        .filter(|cell| cell["network"] == network && cell["workload"] == workload)
        .collect();
    let moved = |cell: &&Value| cell["mean"].as_f64().is_some_and(|mean| mean > 0.0);
    assert!(cells.iter().any(moved), "{network} carried no {workload}: {cells:?}");
    for cell in cells {
        assert!(list(cell, "hops").len() > 1, "{network}: {}", cell["hops"]);
    }
}

/// Checks that there are no comparisons: emulated machines show function, and their figures say nothing about speed.
fn assert_no_verdicts(document: &Value) {
    assert_eq!(document["environment"]["emulated"], true, "{}", document["environment"]["cpu"]);
    let told = list(document, "findings").iter().any(|finding| finding["kind"] == "emulated");
    assert!(told, "{}", document["findings"]);
    for cell in list(document, "cells") {
        assert!(cell["ratio"].is_null() && cell["difference"].is_null(), "{cell}");
    }
}
