//! Support of the end-to-end tests: the program under test, the state of the machine, Docker Engines, a browser.
//!
//! Everything here ends with the test program, even if that is killed: the kernel kills the child processes, and a
//! shell that waits for the end of the test removes the directories.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that fails fails its test"
)]

pub mod chromium;
pub mod counts;
pub mod defective_network;
pub mod engine;
pub mod journal;
pub mod listener;
pub mod machine;
pub mod program;
pub mod pseudo_terminal;
pub mod relayed_network;
pub mod rootless;
pub mod schema;
pub mod shared;
pub mod swarm;
pub mod vm_support;

pub use tare_dev::{NamespacePair, ScratchDirectory, Seed, eventually};

use serde_json::Value;

/// Flags for trials that are as short as possible, for tests that check everything but the figures. They outlast two
/// of TCP's shortest retransmission timeouts (200 ms), so that a busy machine seldom leaves one without a figure.
const SHORT: [&str; 4] = ["--duration", "500ms", "--interval", "10ms"];

/// Returns the arguments of a run with trials as short as possible.
pub fn short_run<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["run"], arguments, &SHORT].concat()
}

/// Returns the arguments of a run of one trial that does not end by itself. Its directory is named after the network.
pub fn endless_trial<'a>(network: &'a str, out: &'a str) -> Vec<&'a str> {
    let asked = ["run", "--network", network, "--workload", "tcp-stream", "--slice", "off"];
    let method = ["--duration", "1h", "--blocks", "1", "--out", out, "--json"];
    [&asked[..], &method].concat()
}

/// Returns the elements of an array in a document.
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("`{key}` is a list in {value}"))
}

/// Returns a text in a document.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {value}"))
}

/// Checks that the text of `tare report` has the answer and the tables of the run's own text, and all its notes.
pub fn check_shown_again(report: &str, run: &str) {
    let is_legend = |line: &str| line.starts_with('±') || line.contains(": no interval, where");
    let above = |text: &str| -> Vec<String> {
        text.lines().take_while(|line| !is_legend(line)).map(str::to_owned).collect()
    };
    assert_eq!(above(report), above(run));
    let is_pointer = |line: &&str| line.contains(" more note");
    for line in run.lines().filter(|line| !is_pointer(line)) {
        assert!(report.lines().any(|other| other == line), "{line}: {report}");
    }
}

/// Returns the MTU of the first device of a document's first path.
pub fn first_mtu(document: &Value) -> Option<u64> {
    list(&list(document, "cells")[0], "hops").iter().find_map(|hop| hop["mtu"].as_u64())
}

/// Returns the hops of a network in a document, as `place:name`.
pub fn hops(document: &Value, network: &str) -> Vec<String> {
    let cell = list(document, "cells")
        .iter()
        .find(|cell| cell["network"] == network)
        .unwrap_or_else(|| panic!("{network} is in {document}"));
    list(cell, "hops")
        .iter()
        .map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name")))
        .collect()
}
