//! Every figure of a run, worked out a second time: from the raw lines of its journal and docs/METHOD.md, with none of
//! the program's own code.

mod figures;
mod numbers;
mod warm_up;

use figures::{Figure, clients, figure, rate};
use numbers::{beyond, holm, interval, mean, median, p_of_zero, quantile, standard_error};
use serde_json::Value;
use std::collections::BTreeMap;
use support::{list, text};

/// Metrics that are compared by difference.
const DIFFERENCES: [&str; 5] = ["loss", "reordered", "duplicates", "retransmits", "cpu_busy"];

/// The largest relative difference between two ways of working out the same figure.
const TOLERANCE: f64 = 1e-6;

/// Fails unless all figures of the document follow from the journal's lines.
pub(crate) fn check(journal: &str, document: &Value) {
    let lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let plan = &lines[0]["plan"];
    let trials = counting_trials(&lines);
    let cells = list(document, "cells");
    for cell in cells {
        check_cell(cell, &samples(&trials, cell));
    }
    for cell in cells {
        check_ratio(plan, cell, cells);
    }
}

/// The trials of the main phase, without those that were made void when the run was resumed.
fn counting_trials(lines: &[Value]) -> Vec<&Value> {
    let mut trials: Vec<&Value> = Vec::new();
    for line in lines {
        match text(line, "record") {
            "trial" => trials.push(line),
            "resumed" => trials.retain(|trial| {
                trial["phase"] != line["phase"] || trial["block"].as_u64() < line["block"].as_u64()
            }),
            _ => {}
        }
    }
    trials.retain(|trial| trial["phase"] == "main");
    trials.sort_by_key(|trial| trial["block"].as_u64());
    trials
}

/// A figure of one trial: over its steady part, and over all of it.
struct Sample {
    block: u64,
    value: f64,
    uncut: f64,
}

/// The samples of a cell; none where one trial has too few round trips for its percentile.
fn samples(trials: &[&Value], cell: &Value) -> Vec<Sample> {
    let same = |trial: &&&Value| {
        ["label", "workload", "shape"].iter().all(|key| trial[*key] == cell[*key])
    };
    let figures: Option<Vec<Option<Sample>>> = trials
        .iter()
        .filter(same)
        .map(|trial| {
            let steady = Steady::new(trial);
            let metric = text(cell, "metric");
            let of = |from| figure(trial, &steady.clients, from, steady.to, metric);
            match (of(steady.from), of(0)) {
                (Figure::Value(value), Figure::Value(uncut)) => {
                    let block = trial["block"].as_u64().expect("a number");
                    Some(Some(Sample { block, value, uncut }))
                }
                (Figure::TooFew, _) | (_, Figure::TooFew) => None,
                _ => Some(None),
            }
        })
        .collect();
    figures.unwrap_or_default().into_iter().flatten().collect()
}

/// Steady part of a trial.
pub(crate) struct Steady<'a> {
    /// First interval after the warm-up.
    pub(crate) from: usize,
    to: usize,
    clients: Vec<Vec<&'a Value>>,
}

impl<'a> Steady<'a> {
    /// Steady part by the rule of docs/METHOD.md.
    pub(crate) fn new(trial: &'a Value) -> Self {
        let clients = clients(trial);
        let to = clients.iter().map(Vec::len).min().expect("a client");
        let counted =
            if text(trial, "workload").ends_with("rr") { "/operations" } else { "/bytes" };
        let rates: Vec<f64> = (0..to).map(|at| rate(&clients, at, at + 1, counted)).collect();
        Self { from: warm_up::cut(&rates), to, clients }
    }

    /// Length, ns.
    pub(crate) fn length(&self) -> f64 {
        let kept = &self.clients[0][self.from..self.to];
        kept.iter().map(|interval| interval["length"].as_f64().expect("ns")).sum()
    }

    /// Cores that were busy with work of these kinds; nothing where the machine was not sampled.
    pub(crate) fn cores(&self, trial: &Value, kinds: &[&str]) -> Option<f64> {
        let unit = self.length() / 1e9;
        match figures::cpu(trial, kinds, &self.clients, self.from, self.to, unit) {
            Figure::Value(cores) => Some(cores),
            Figure::TooFew | Figure::Nothing => None,
        }
    }
}

fn check_cell(cell: &Value, samples: &[Sample]) {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let uncut: Vec<f64> = samples.iter().map(|sample| sample.uncut).collect();
    let blocks: Vec<u64> = samples.iter().map(|sample| sample.block).collect();
    assert_eq!(cell["n"], values.len(), "{cell}");
    assert_eq!(cell["blocks"], Value::from(blocks), "{cell}");
    assert_eq!(cell["withheld"].is_null(), !values.is_empty(), "{cell}");
    if values.is_empty() {
        assert!(cell["mean"].is_null() && cell["ci95"].is_null(), "{cell}");
        return;
    }
    for (said, value) in list(cell, "samples").iter().zip(&values) {
        same(said, *value, "a sample", cell);
    }
    same(&cell["mean"], mean(&values), "mean", cell);
    same(&cell["median"], median(&values), "median", cell);
    same(&cell["uncut_mean"], mean(&uncut), "uncut_mean", cell);
    if values.len() > 1 {
        same_interval(&cell["ci95"], interval(&values, 0.95), "ci95", cell);
    }
}

/// The samples of a cell by their blocks, as the document has them: `check_cell` has made sure of them.
fn by_block(cell: &Value) -> BTreeMap<u64, f64> {
    let blocks = list(cell, "blocks").iter().filter_map(Value::as_u64);
    blocks.zip(list(cell, "samples").iter().filter_map(Value::as_f64)).collect()
}

/// The logarithms of the ratios of two cells, block by block; none where a figure of 0 has no ratio.
fn log_ratios(cell: &Value, baseline: &Value) -> Vec<f64> {
    let below = by_block(baseline);
    let pairs: Vec<(f64, f64)> = by_block(cell)
        .into_iter()
        .filter_map(|(block, value)| Some((value, *below.get(&block)?)))
        .collect();
    if pairs.iter().any(|(value, below)| *value <= 0.0 || *below <= 0.0) {
        return Vec::new();
    }
    pairs.into_iter().map(|(value, below)| (value / below).ln()).collect()
}

/// Whether two cells differ in nothing but the network.
fn comparable(one: &Value, other: &Value) -> bool {
    ["workload", "metric", "shape", "parameters"].iter().all(|key| one[*key] == other[*key])
}

fn check_ratio(plan: &Value, cell: &Value, cells: &[Value]) {
    let family: Vec<&Value> = cells.iter().filter(|other| comparable(cell, other)).collect();
    // Where the baseline has no cell, and for itself, there is nothing to compare with.
    let baseline = family.iter().find(|other| other["label"] == plan["baseline"]);
    let logs_of = |one: &Value| match baseline {
        Some(baseline) if one["label"] != plan["baseline"] => log_ratios(one, baseline),
        _ => Vec::new(),
    };
    if DIFFERENCES.contains(&text(cell, "metric")) {
        assert!(cell["ratio"].is_null(), "{cell}");
        check_difference(plan, cell, baseline.filter(|one| one["label"] != cell["label"]).copied());
        return;
    }
    let logs = logs_of(cell);
    if logs.len() < 2 {
        assert!(cell["ratio"].is_null(), "{cell}");
        return;
    }
    let ratio = &cell["ratio"];
    let of_the_family: Vec<f64> = family
        .iter()
        .map(|other| logs_of(other))
        .filter(|logs| logs.len() > 1)
        .map(|logs| p_of_zero(&logs))
        .collect();
    let ci90 = interval(&logs, 0.90).map(f64::exp);
    let (p, p_adjusted) = (p_of_zero(&logs), holm(&of_the_family, p_of_zero(&logs)));
    same(&ratio["value"], mean(&logs).exp(), "the ratio", cell);
    same_interval(&ratio["ci90"], ci90, "the ratio's ci90", cell);
    same_interval(&ratio["ci95"], interval(&logs, 0.95).map(f64::exp), "the ratio's ci95", cell);
    same(&ratio["p"], p, "p", cell);
    same(&ratio["p_adjusted"], p_adjusted, "p_adjusted", cell);
    same(&ratio["detectable"], detectable(&logs), "detectable", cell);
    assert_eq!(ratio["pairs"], logs.len(), "{cell}");
    assert_eq!(ratio["baseline"], plan["baseline"], "{cell}");
    let margin = plan["margins"][text(cell, "metric")].as_f64().expect("a margin");
    same(&ratio["margin"], margin, "margin", cell);
    let improved = (mean(&logs) > 0.0) == (cell["better"] == "higher");
    assert_eq!(ratio["verdict"], verdict(ci90, margin, p_adjusted < 0.05, improved), "{cell}");
    for other in family.iter().filter(|other| !other["ratio"].is_null()) {
        assert_eq!(other["ratio"]["family"], ratio["family"], "one family");
    }
}

/// The mean of the blocks' differences.
fn check_difference(plan: &Value, cell: &Value, baseline: Option<&Value>) {
    let below = baseline.map(by_block).unwrap_or_default();
    let differences: Vec<f64> = by_block(cell)
        .into_iter()
        .filter_map(|(block, value)| Some(value - below.get(&block)?))
        .collect();
    if differences.len() < 2 {
        assert!(cell["difference"].is_null(), "{cell}");
        return;
    }
    let difference = &cell["difference"];
    same(&difference["value"], mean(&differences), "the difference", cell);
    same_interval(&difference["ci95"], interval(&differences, 0.95), "its ci95", cell);
    assert_eq!(difference["baseline"], plan["baseline"], "{cell}");
}

/// The change found in 80 % of runs at two-sided 5 %.
fn detectable(logs: &[f64]) -> f64 {
    let degrees = logs.len() - 1;
    let errors = quantile(0.975, degrees) + quantile(0.80, degrees);
    (errors * standard_error(logs)).exp() - 1.0
}

/// The table of verdicts.
fn verdict([low, high]: [f64; 2], margin: f64, differs: bool, improved: bool) -> &'static str {
    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
    let within = low >= least && high <= most;
    let beyond = high < least || low > most;
    match (within, beyond, differs, improved) {
        (_, true, true, true) => "faster",
        (_, true, true, false) => "slower",
        (true, _, true, true) => "faster-slightly",
        (true, _, true, false) => "slower-slightly",
        (true, _, false, _) => "same",
        _ => "unclear",
    }
}

#[track_caller]
fn same(said: &Value, worked_out: f64, what: &str, cell: &Value) {
    let said = said.as_f64().unwrap_or_else(|| panic!("{what} is missing from {cell}"));
    let scale = said.abs().max(worked_out.abs());
    assert!(
        (said - worked_out).abs() <= TOLERANCE * scale,
        "{what}: {said} is said and {worked_out} worked out, in {cell}"
    );
}

#[track_caller]
fn same_interval(said: &Value, worked_out: [f64; 2], what: &str, cell: &Value) {
    for (end, worked_out) in worked_out.into_iter().enumerate() {
        same(&said[end], worked_out, what, cell);
    }
}

#[test]
fn a_tail_and_its_quantile_belong_together() {
    let t = quantile(0.9, 7);
    assert!((beyond(t, 7) - 0.1).abs() < 1e-9);
}
