//! Test of `tare run --quick --json` as the README and its issue promise it: all networks, all four figures, enough
//! blocks, one document, and every number recomputed.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use support::journal::trials;
use support::program::Tare;
use support::{ScratchDirectory, list, schema, text};

const NETWORKS: [&str; 8] =
    ["native", "loopback", "host", "shared", "veth", "bridge", "bridge-plain", "published"];
const METRICS: [&str; 4] = ["throughput", "transactions", "latency_p50", "latency_p99"];

#[test]
fn quick_measures_every_network_and_every_figure_in_five_blocks() {
    let scratch = ScratchDirectory::new();
    // The quick budget is for an idle machine. A longer one allows five blocks on a busy machine.
    let asked = ["run", "--quick", "--blocks", "5", "--budget", "1h", "--json", "--out", "out"];
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

#[test]
fn interim_analyses_are_made_when_they_are_planned_and_widen_the_intervals() {
    let scratch = ScratchDirectory::new();
    // A precision that no machine reaches: ten blocks, with an analysis at 40, 60 and 80 % of them.
    let study = r#"
        name = "analysed"
        networks = ["host", "veth", "bridge"]
        metrics = ["throughput"]
        [[workload]]
        name = "tcp-stream"
        woven-duration = "60ms"
        [method]
        precision = "0.0001%"
        pilot = 2
        at-least = 2
        at-most = 10
        slice = "auto"
    "#;
    std::fs::write(scratch.path("analysed.toml"), study).expect("the directory is writable");
    let asked = ["run", "analysed.toml", "--json", "--out", "out"];
    let document = Tare::in_directory(scratch.root()).run(&asked).expect(0).json();
    schema::check(&document, "run.json");
    assert_eq!((&document["blocks"], &document["stopped_by"]), (&10.into(), &"blocks".into()));
    let analyses: Vec<(u64, f64)> = list(&document, "interim_analyses")
        .iter()
        .map(|analysis| {
            assert_eq!(list(analysis, "decided"), [] as [Value; 0]);
            let blocks = analysis["blocks"].as_u64().expect("a number");
            (blocks, analysis["information"].as_f64().expect("a share"))
        })
        .collect();
    assert_eq!(analyses, [(4, 0.4), (6, 0.6), (8, 0.8)]);
    let journal = std::fs::read_to_string(scratch.path("out/journal.jsonl")).expect("a journal");
    crate::recompute::check(&journal, &document);
    assert_lengths_tried(&trials(&scratch.path("out")));
}

/// Fails unless the first blocks tried the lengths of a slice, and all others have one of them.
fn assert_lengths_tried(trials: &[Value]) {
    let mut plans: BTreeMap<u64, Value> = BTreeMap::new();
    for trial in trials {
        let plan = &trial["slices"]["plan"];
        let block = trial["block"].as_u64().expect("a number");
        assert_eq!(plans.entry(block).or_insert_with(|| plan.clone()), plan, "block {block}");
    }
    let length = |block: u64| plans[&block]["length"].as_u64().expect("ns");
    let tried = [10_000_000, 20_000_000, 5_000_000];
    assert_eq!([0, 1, 2].map(length), tried);
    assert!(tried.contains(&length(3)), "{}", plans[&3]);
    assert!((4..10).all(|block| plans[&block] == plans[&3]), "{plans:?}");
}

/// Fails unless each network has each figure from five blocks, or, as on a busy machine, from those in which traffic came
/// through, percentiles from pools of blocks, or too few round trips for them. (All counts are recomputed from the journal.)
fn assert_every_figure(document: &Value) {
    assert_eq!((&document["blocks"], &document["stopped_by"]), (&5.into(), &"blocks".into()));
    let cells = list(document, "cells");
    for network in NETWORKS {
        for metric in METRICS {
            let is = |cell: &&Value| cell["network"] == network && cell["metric"] == metric;
            let cell = cells.iter().find(is).unwrap_or_else(|| panic!("{metric} of {network}"));
            let withheld = cell["withheld"]["reason"].as_str().unwrap_or_default();
            let too_few = withheld.contains(&format!("beyond {metric}, and 30 are"));
            let has =
                |kind: &str| list(cell, "findings").iter().any(|finding| finding["kind"] == kind);
            let pooled = metric.starts_with("latency") && has("pooled-blocks") && cell["n"] == 2;
            assert!(cell["n"] == 5 || too_few || pooled || has("silent"), "{cell}");
        }
    }
    assert_eq!(cells.len(), NETWORKS.len() * METRICS.len());
    assert_eq!(list(document, "skipped"), [] as [Value; 0]);
    assert_eq!(list(document, "failed"), [] as [Value; 0]);
}

/// Fails unless each round of each workload has one slice of each network, in orders that are drawn anew.
fn assert_random_order(trials: &[Value]) {
    let together = |one: &Value, next: &Value| {
        one["block"] == next["block"] && one["workload"] == next["workload"]
    };
    let mut orders: BTreeSet<Vec<&str>> = BTreeSet::new();
    let mut count = 0;
    for woven in trials.chunk_by(together) {
        let labels: BTreeSet<&str> = woven.iter().map(|trial| text(trial, "label")).collect();
        assert_eq!(labels, BTreeSet::from(NETWORKS), "each network has a part");
        let mut last = 0;
        for round in 0..list(&woven[0]["slices"], "began").len() {
            let began = |trial: &Value| trial["slices"]["began"][round].as_u64().expect("ns");
            let mut slices: Vec<(u64, &str)> =
                woven.iter().map(|trial| (began(trial), text(trial, "label"))).collect();
            slices.sort_unstable();
            assert!(slices[0].0 > last, "a round begins after the one before it");
            last = slices[slices.len() - 1].0;
            orders.insert(slices.into_iter().map(|(_, label)| label).collect());
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
    // Of 40,320 orders, a square has eight; two squares have hardly any in common.
    assert!(orders.len() > count / 2, "{} orders of {count}", orders.len());
}
