//! The networks that the machine's own kernel cannot carry, each once, on one that can: function only.
//!
//! `make test-vm` boots Debian's kernel in a virtual machine, and runs these there. The machine on which it was started
//! has looked which of its networks it cannot carry, and says their names in the environment.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use support::program::Tare;
use support::scratch::Scratch;
use support::{list, text};

/// The variable that names the networks, with commas between them.
const NETWORKS: &str = "TARE_VM_NETWORKS";

/// Networks of which the kernel in the machine is too old, and the feature that it lacks.
const TOO_NEW: [(&str, &str); 1] = [("netkit", "netkit")];

#[test]
#[ignore = "needs a kernel with all modules: make test-vm"]
fn every_network_that_the_machine_cannot_carry_runs_here() {
    let names = std::env::var(NETWORKS).expect("the names of the networks");
    let names: BTreeSet<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
    assert!(!names.is_empty(), "{NETWORKS} names none: the machine can carry them all");
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let asked: Vec<&str> = names.iter().copied().collect();
    let run = tare.run(&[
        "run",
        "--network",
        &asked.join(","),
        "--workload",
        "tcp-stream,tcp-rr,udp-rr",
        "--blocks",
        "1",
        "--duration",
        "200ms",
        "--interval",
        "10ms",
        "--load-modules",
        "--json",
    ]);
    let document: Value = serde_json::from_slice(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", run.stderr));
    let skipped: BTreeSet<&str> =
        list(&document, "skipped").iter().map(|one| text(one, "network")).collect();
    for one in list(&document, "skipped") {
        let (network, reason) = (text(one, "network"), text(one, "reason"));
        let known = TOO_NEW.iter().any(|(name, lacks)| network == *name && reason.contains(lacks));
        assert!(known, "{network}: {reason}");
    }
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
    for name in names.difference(&skipped) {
        for workload in ["tcp-stream", "tcp-rr", "udp-rr"] {
            carries(&document, name, workload);
        }
    }
    verdicts_are_refused(&document);
}

/// Whether a network has carried a workload, over a path that it names.
fn carries(document: &Value, network: &str, workload: &str) {
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

/// Emulated machines show function: nothing there is faster or slower than anything.
fn verdicts_are_refused(document: &Value) {
    assert_eq!(document["environment"]["emulated"], true, "{}", document["environment"]["cpu"]);
    let told = list(document, "findings").iter().any(|finding| finding["kind"] == "emulated");
    assert!(told, "{}", document["findings"]);
    for cell in list(document, "cells") {
        assert!(cell["ratio"].is_null() && cell["difference"].is_null(), "{cell}");
    }
}
