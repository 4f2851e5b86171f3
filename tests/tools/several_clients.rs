//! Tests of one server of a foreign tool with several clients, each of which reaches it at an address of its own.

use crate::foreign::in_scratch;
use support::program::User;
use support::{ScratchDirectory, list};

/// Tools whose clients share a server, with a figure that each must report.
const TOOLS: [(&str, &str); 6] = [
    ("mysql", "tps"),
    ("postgres", "tps"),
    ("redis", "transactions"),
    ("iperf", "throughput"),
    ("sockperf", "latency_p99"),
    ("wrk", "latency_p99"),
];

#[test]
fn a_server_answers_at_each_of_its_addresses() {
    let scratch = ScratchDirectory::new();
    let tare = in_scratch(&scratch, User::Caller);
    for (tool, metric) in TOOLS {
        let asked = ["run", "study.toml", "--workload", tool, "--clients", "2", "--json"];
        let document = tare.run(&[&asked[..], &["--out", tool]].concat()).expect(0).json();
        for scope in ["client:0", "client:1"] {
            let is_its = |cell: &&serde_json::Value| {
                cell["scope"] == scope && cell["metric"] == metric && cell["workload"] == tool
            };
            let cell = list(&document, "cells").iter().find(is_its);
            let cell = cell.unwrap_or_else(|| panic!("{metric} of {scope} in {document}"));
            assert!(cell["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{cell}");
        }
    }
}
