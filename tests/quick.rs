//! `tare run --quick --json`, as the README and the issue that built it promise it: all networks, all four figures,
//! enough blocks, one document, and every number of it worked out a second time.
//!
//! It is a test program of its own, so that nothing else runs while it measures.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod recompute;
mod support;

use serde_json::Value;
use std::sync::OnceLock;
use support::program::{Outcome, Tare};
use support::scratch::Scratch;
use support::{list, schema, text};

const NETWORKS: [&str; 8] =
    ["native", "loopback", "host", "shared", "veth", "bridge", "bridge-plain", "published"];
const METRICS: [&str; 4] = ["throughput", "transactions", "latency_p50", "latency_p99"];

/// The one run that all tests look at.
struct Quick {
    scratch: Scratch,
    outcome: Outcome,
}

impl Quick {
    fn get() -> &'static Self {
        static QUICK: OnceLock<Quick> = OnceLock::new();
        QUICK.get_or_init(|| {
            let scratch = Scratch::new();
            let outcome = Tare::in_directory(scratch.root())
                .run(&["run", "--quick", "--json", "--out", "out"]);
            Self { scratch, outcome }
        })
    }

    fn document(&self) -> Value {
        self.outcome.json()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.scratch.path("out").join(name)).expect("the run wrote it")
    }
}

/// Whether so little was sent in a short trial that nobody can tell its slowest hundredth, as on a machine that is busy.
fn withheld_for_samples(cell: &Value) -> bool {
    let reason = cell["withheld"]["reason"].as_str().unwrap_or_default();
    cell["metric"] == "latency_p99" && reason.contains("samples beyond latency_p99, and 100 are")
}

#[test]
fn every_network_has_every_figure_from_five_blocks_or_more() {
    let quick = Quick::get();
    assert_eq!(quick.outcome.code, Some(0), "{}", quick.outcome.stderr);
    let document = quick.document();
    let cells = list(&document, "cells");
    let found = |network: &str, metric: &str| {
        cells.iter().find(|cell| cell["network"] == network && cell["metric"] == metric)
    };
    let few: Vec<String> = NETWORKS
        .iter()
        .flat_map(|network| METRICS.iter().map(move |metric| (network, metric)))
        .filter(|(network, metric)| {
            found(network, metric)
                .is_none_or(|cell| cell["n"].as_u64() < Some(5) && !withheld_for_samples(cell))
        })
        .map(|(network, metric)| {
            let why = found(network, metric).map(|cell| cell["withheld"]["reason"].clone());
            format!("{network} {metric}: {}", why.unwrap_or_default())
        })
        .collect();
    assert!(few.is_empty(), "fewer than five: {few:#?}\n{}", quick.outcome.stderr);
    assert_eq!(cells.len(), NETWORKS.len() * METRICS.len());
    assert_eq!(list(&document, "skipped"), [] as [Value; 0]);
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
}

#[test]
fn the_document_is_as_its_schema_says_and_all_that_is_printed() {
    let quick = Quick::get();
    let document = quick.document();
    schema::check(&document, "run.json");
    assert_eq!(quick.outcome.text(), quick.file("result.json"));
    let rows = quick.file("result.csv").lines().count();
    assert_eq!(rows, 1 + list(&document, "cells").len(), "a heading and a row a cell");
}

#[test]
fn every_figure_can_be_worked_out_from_the_journal() {
    let quick = Quick::get();
    recompute::check(&quick.file("journal.jsonl"), &quick.document());
}

#[test]
fn every_block_measures_every_network_back_to_back_in_an_order_of_its_own() {
    let quick = Quick::get();
    let journal = quick.file("journal.jsonl");
    let trials: Vec<Value> = journal
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .filter(|line: &Value| line["record"] == "trial" && line["phase"] == "main")
        .collect();
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
    assert!(orders.len() > 1, "the order is drawn anew for each block");
}
