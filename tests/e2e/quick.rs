//! Test of `tare run --quick --json` as the README and its issue promise it: all networks, all four figures, enough
//! blocks, one document, and every number recomputed.

use serde_json::Value;
use support::journal::trials;
use support::program::Tare;
use support::{ScratchDirectory, list, schema, text};

const NETWORKS: [&str; 8] =
    ["native", "loopback", "host", "shared", "veth", "bridge", "bridge-plain", "published"];
const METRICS: [&str; 4] = ["throughput", "transactions", "latency_p50", "latency_p99"];

#[test]
fn quick_measures_every_network_and_every_figure_in_five_blocks() {
    let scratch = ScratchDirectory::new();
    // The quick budget of 50 s is for an idle machine. A longer one allows five blocks on a busy machine.
    let asked = ["run", "--quick", "--budget", "1h", "--json", "--out", "out"];
    let outcome = Tare::in_directory(scratch.root()).run(&asked).expect(0);
    let file = |name: &str| {
        std::fs::read_to_string(scratch.path("out").join(name)).expect("the run wrote it")
    };
    let document = outcome.json();
    schema::check(&document, "run.json");
    assert_eq!(outcome.text(), file("result.json"), "the document is all that is printed");
    let rows = file("result.csv").lines().count();
    assert_eq!(rows, 1 + list(&document, "cells").len(), "a heading and a row a cell");
    crate::recompute::check(&file("journal.jsonl"), &document);
    assert_every_figure(&document);
    assert_random_order(&trials(&scratch.path("out")));
}

/// Fails unless each network has each figure from five blocks, or too few round trips for p99, as on a busy machine.
/// (The count of round trips is recomputed from the journal.)
fn assert_every_figure(document: &Value) {
    assert_eq!((&document["blocks"], &document["stopped_by"]), (&5.into(), &"blocks".into()));
    let cells = list(document, "cells");
    for network in NETWORKS {
        for metric in METRICS {
            let is = |cell: &&Value| cell["network"] == network && cell["metric"] == metric;
            let cell = cells.iter().find(is).unwrap_or_else(|| panic!("{metric} of {network}"));
            let withheld = cell["withheld"]["reason"].as_str().unwrap_or_default();
            let too_few = metric == "latency_p99"
                && withheld.contains("samples beyond latency_p99, and 100 are");
            assert!(cell["n"] == 5 || too_few, "{cell}");
        }
    }
    assert_eq!(cells.len(), NETWORKS.len() * METRICS.len());
    assert_eq!(list(document, "skipped"), [] as [Value; 0]);
    assert_eq!(list(document, "failed"), [] as [Value; 0]);
}

/// Fails unless each block measures each network once, with both workloads back to back, in a random order.
fn assert_random_order(trials: &[Value]) {
    let mut orders: Vec<Vec<&str>> = Vec::new();
    for block in trials.chunk_by(|one, next| one["block"] == next["block"]) {
        let labels: Vec<&str> = block.iter().map(|trial| text(trial, "label")).collect();
        let order: Vec<&str> =
            labels.chunk_by(|one, next| one == next).map(|turn| turn[0]).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let mut all = NETWORKS.to_vec();
        all.sort_unstable();
        assert_eq!(sorted, all, "each network has one turn, for both workloads");
        orders.push(order);
    }
    orders.sort_unstable();
    orders.dedup();
    // The chance of five equal orders out of 40,320 is 1 in 10^18.
    assert!(orders.len() > 1, "the order is drawn anew for each block");
}
