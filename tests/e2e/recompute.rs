//! Recomputation of every figure of a run from the raw lines of its journal, after docs/METHOD.md, without the
//! program's own code.

mod figures;
pub(crate) mod numbers;
mod sequential;
mod warm_up;
mod woven;

use figures::{TrialFigure, clients, figure, rate};
use numbers::{beyond, holm, interval, mean, median, p_of_zero, quantile, standard_error};
use serde_json::Value;
use std::collections::BTreeMap;
use support::{list, text};

/// Metrics that are compared by difference.
const DIFFERENCES: [&str; 6] =
    ["loss", "reordered", "duplicates", "retransmits", "cpu_busy", "softirq_core"];

/// Largest relative difference between the two computations of a figure.
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
        check_ratio(plan, cell, document, &trials);
    }
}

/// Returns the trials of the main phase, without those invalidated when the run was resumed.
fn counting_trials(lines: &[Value]) -> Vec<&Value> {
    let mut trials: Vec<&Value> = Vec::new();
    for line in lines {
        match text(line, "record") {
            "trial" => trials.push(line),
            "resumed" => trials.retain(|trial| {
                let is_later = trial["phase"] == "main" && line["phase"] == "pilot";
                let is_same = trial["phase"] == line["phase"];
                !is_later && (!is_same || trial["block"].as_u64() < line["block"].as_u64())
            }),
            _ => {}
        }
    }
    trials.retain(|trial| trial["phase"] == "main");
    trials.sort_by_key(|trial| trial["block"].as_u64());
    trials
}

/// Figure of one trial: over its steady state, and over all of it.
struct TrialSample {
    block: u64,
    value: f64,
    uncut: f64,
}

/// Returns the samples of a cell. Empty if one trial has too few round trips for its percentile, and no pools of blocks
/// have enough.
fn samples(trials: &[&Value], cell: &Value) -> Vec<TrialSample> {
    let compared =
        |trial: &&&Value| ["workload", "shape"].iter().all(|key| trial[*key] == cell[*key]);
    let together: Vec<&Value> = trials.iter().filter(compared).copied().collect();
    let metric = text(cell, "metric");
    let too_few = together.iter().any(|trial| {
        let steady = SteadyPart::new(trial);
        let figure = figure(trial, &steady.clients, steady.from, steady.to, metric);
        matches!(figure, TrialFigure::TooFew)
    });
    if too_few && let Some(pooled) = woven::pooled(&together, metric) {
        let sample = |&(block, value): &(u64, f64)| TrialSample { block, value, uncut: value };
        return pooled[text(cell, "label")].iter().map(sample).collect();
    }
    samples_of_trials(trials, cell)
}

/// Returns the samples of a cell, one a trial.
fn samples_of_trials(trials: &[&Value], cell: &Value) -> Vec<TrialSample> {
    let same = |trial: &&&Value| {
        ["label", "workload", "shape"].iter().all(|key| trial[*key] == cell[*key])
    };
    let figures: Option<Vec<Option<TrialSample>>> = trials
        .iter()
        .filter(same)
        .map(|trial| {
            let steady = SteadyPart::new(trial);
            let metric = text(cell, "metric");
            let of = |from| figure(trial, &steady.clients, from, steady.to, metric);
            match (of(steady.from), of(0)) {
                (TrialFigure::Value(value), TrialFigure::Value(uncut)) => {
                    let block = trial["block"].as_u64().expect("a number");
                    Some(Some(TrialSample { block, value, uncut }))
                }
                (TrialFigure::TooFew, _) | (_, TrialFigure::TooFew) => None,
                _ => Some(None),
            }
        })
        .collect();
    figures.unwrap_or_default().into_iter().flatten().collect()
}

/// Steady state of a trial.
pub(crate) struct SteadyPart<'a> {
    /// First interval after the warm-up.
    pub(crate) from: usize,
    to: usize,
    clients: Vec<Vec<&'a Value>>,
}

impl<'a> SteadyPart<'a> {
    /// Finds the steady state by the rules of docs/METHOD.md, "Warm-up" and "Switches and trends".
    pub(crate) fn new(trial: &'a Value) -> Self {
        let clients = clients(trial);
        let to = clients.iter().map(Vec::len).min().expect("a client");
        let counted =
            if text(trial, "workload").ends_with("rr") { "/operations" } else { "/bytes" };
        let rates: Vec<f64> = (0..to).map(|at| rate(&clients, at, at + 1, counted)).collect();
        // Of a woven trial the beginning of every slice is cut already.
        let from = if trial["slices"].is_null() { warm_up::cut(&rates) } else { 0 };
        Self { from, to, clients }
    }

    /// Returns the length of the steady state, ns.
    pub(crate) fn length(&self) -> f64 {
        let kept = &self.clients[0][self.from..self.to];
        kept.iter().map(|interval| interval["length"].as_f64().expect("ns")).sum()
    }

    /// Returns the cores that were busy with these kinds of work. Returns `None` if the machine was not sampled.
    pub(crate) fn cores(&self, trial: &Value, kinds: &[&str]) -> Option<f64> {
        let unit = self.length() / 1e9;
        match figures::cpu(trial, kinds, &self.clients, self.from, self.to, unit) {
            TrialFigure::Value(cores) => Some(cores),
            TrialFigure::TooFew | TrialFigure::Nothing => None,
        }
    }
}

fn check_cell(cell: &Value, samples: &[TrialSample]) {
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
        assert_same(said, *value, "a sample", cell);
    }
    assert_same(&cell["mean"], mean(&values), "mean", cell);
    assert_same(&cell["median"], median(&values), "median", cell);
    assert_same(&cell["uncut_mean"], mean(&uncut), "uncut_mean", cell);
    if values.len() > 1 {
        assert_same_interval(&cell["ci95"], interval(&values, 0.95), "ci95", cell);
    }
}

/// Returns the samples of a cell by block, from the document: `check_cell` has verified them.
fn by_block(cell: &Value) -> BTreeMap<u64, f64> {
    let blocks = list(cell, "blocks").iter().filter_map(Value::as_u64);
    blocks.zip(list(cell, "samples").iter().filter_map(Value::as_f64)).collect()
}

/// Returns the logarithms of the ratios of two cells, block by block: those of their rounds, or of their figures. Empty
/// if a figure is 0, which has no ratio.
fn log_ratios(trials: &[&Value], cell: &Value, baseline: &Value) -> Vec<f64> {
    let below = by_block(baseline);
    let pairs: Vec<(u64, f64, f64)> = by_block(cell)
        .into_iter()
        .filter_map(|(block, value)| Some((block, value, *below.get(&block)?)))
        .collect();
    let rounds = |cell: &Value, block: u64| {
        let trial = trials.iter().find(|trial| {
            trial["block"] == block
                && ["label", "workload", "shape"].iter().all(|key| trial[*key] == cell[*key])
        });
        woven::rounds(trial?, text(cell, "metric"))
    };
    let logs: Vec<f64> = pairs
        .into_iter()
        .map(|(block, value, below)| {
            let rounds = rounds(cell, block).zip(rounds(baseline, block));
            rounds
                .and_then(|(above, below)| woven::trimmed_log_ratio(&above, &below))
                .unwrap_or_else(|| (value / below).ln())
        })
        .collect();
    if logs.iter().all(|log| log.is_finite()) { logs } else { Vec::new() }
}

/// Returns true if two cells differ only in their network.
fn comparable(one: &Value, other: &Value) -> bool {
    ["workload", "metric", "shape", "parameters"].iter().all(|key| one[*key] == other[*key])
}

fn check_ratio(plan: &Value, cell: &Value, document: &Value, trials: &[&Value]) {
    let cells = list(document, "cells");
    let family: Vec<&Value> = cells.iter().filter(|other| comparable(cell, other)).collect();
    // The baseline itself has no ratio, and neither has a cell whose baseline is missing.
    let baseline = family.iter().find(|other| other["label"] == plan["baseline"]);
    let logs_of = |one: &Value| match baseline {
        Some(baseline) if one["label"] != plan["baseline"] => log_ratios(trials, one, baseline),
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
    assert_same(&ratio["value"], mean(&logs).exp(), "the ratio", cell);
    let blocks_of = |one: &Value| common_blocks(one, baseline.expect("a ratio has a baseline"));
    let is_analysed = text(&plan["blocks"], "by") == "group-sequential";
    let analyses = if is_analysed {
        sequential::analyses(document, cell, &blocks_of(cell))
    } else {
        vec![(logs.len() as f64, 1.0)]
    };
    let interval_of = |alpha: f64| interval(&logs, 1.0 - sequential::level(&analyses, alpha));
    let ci90 = interval_of(0.10).map(f64::exp);
    assert_same_interval(&ratio["ci90"], ci90, "the ratio's ci90", cell);
    assert_same_interval(&ratio["ci95"], interval_of(0.05).map(f64::exp), "its ci95", cell);
    let p = check_p_value(&analyses, &logs, cell);
    let of_the_family: Vec<f64> = family
        .iter()
        .filter(|other| logs_of(other).len() > 1)
        .map(|other| other["ratio"]["p"].as_f64().expect("a p-value"))
        .collect();
    let p_adjusted = match sequential::decision(document, cell) {
        Some(decision) => {
            let members = family.iter().map(|one| (*one, blocks_of(one), logs_of(one)));
            check_decided_p_value(document, decision, cell, members)
        }
        None => {
            let p_adjusted = holm(&of_the_family, p);
            assert_same(&ratio["p_adjusted"], p_adjusted, "p_adjusted", cell);
            p_adjusted
        }
    };
    assert_same(&ratio["detectable"], detectable(&logs), "detectable", cell);
    assert_eq!(ratio["pairs"], logs.len(), "{cell}");
    assert_eq!(ratio["baseline"], plan["baseline"], "{cell}");
    let margin = plan["margins"][text(cell, "metric")].as_f64().expect("a margin");
    assert_same(&ratio["margin"], margin, "margin", cell);
    let improved = (mean(&logs) > 0.0) == (cell["better"] == "higher");
    assert_eq!(ratio["verdict"], verdict(ci90, margin, p_adjusted < 0.05, improved), "{cell}");
    for other in family.iter().filter(|other| !other["ratio"].is_null()) {
        assert_eq!(other["ratio"]["family"], ratio["family"], "one family");
    }
}

/// Checks the corrected p-value of a network that an interim analysis decided, and returns it: Holm's over the family
/// as it was then. It is the p-value times the number of those that were not smaller, or more if a smaller one times
/// its number is, which is at most the p-value times the number of all.
fn check_decided_p_value<'a>(
    document: &Value,
    decision: usize,
    cell: &Value,
    members: impl Iterator<Item = (&'a Value, Vec<u64>, Vec<f64>)>,
) -> f64 {
    let number = |key: &str| cell["ratio"][key].as_f64().expect("a number");
    let (p, said) = (number("p"), number("p_adjusted"));
    let (mut all, mut not_smaller) = (0.0, 0.0);
    for (member, blocks, logs) in members {
        let analyses = sequential::analyses_at(document, decision, member, &blocks);
        let there = analyses.last().map_or(0, |(values, _)| *values as usize);
        if logs.len() < 2 || there < 2 {
            continue;
        }
        all += 1.0;
        // Rejected with the probability of error `p` over all analyses: its own p-value is smaller.
        let is_cell = member["label"] == cell["label"];
        let is_smaller = p < 1e-9 || p_of_zero(&logs[..there]) < sequential::level(&analyses, p);
        not_smaller += f64::from(u8::from(is_cell || !is_smaller));
    }
    let (least, most) = ((p * not_smaller).min(1.0), (p * all).min(1.0));
    let slack = 1.0 + 1e-3;
    assert!((least / slack..=most * slack).contains(&said), "{said}: {least} to {most}, {cell}");
    said
}

/// Returns the blocks in which two cells have figures.
fn common_blocks(cell: &Value, baseline: &Value) -> Vec<u64> {
    let below = by_block(baseline);
    by_block(cell).into_keys().filter(|block| below.contains_key(block)).collect()
}

/// Checks the p-value of a ratio over all analyses, and returns it: if all together may err with that probability, the
/// level of the last one is the p-value of its test alone.
fn check_p_value(analyses: &[sequential::Analysis], logs: &[f64], cell: &Value) -> f64 {
    let (said, alone) = (&cell["ratio"]["p"], p_of_zero(logs));
    if analyses.len() == 1 && analyses[0].1 >= 1.0 {
        assert_same(said, alone, "p", cell);
    }
    let p = said.as_f64().unwrap_or_else(|| panic!("p is missing from {cell}"));
    assert!(p >= alone * (1.0 - TOLERANCE), "p is below {alone} in {cell}");
    // Smaller ones lie beyond the grid.
    if analyses.len() > 1 && (1e-9..1.0).contains(&p) {
        let level = sequential::level(analyses, p);
        assert!((level / alone - 1.0).abs() < 1e-3, "p: {level} is not {alone}, in {cell}");
    }
    p
}

/// Checks the mean of the blocks' differences.
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
    assert_same(&difference["value"], mean(&differences), "the difference", cell);
    assert_same_interval(&difference["ci95"], interval(&differences, 0.95), "its ci95", cell);
    assert_eq!(difference["baseline"], plan["baseline"], "{cell}");
}

/// Returns the change that 80 % of runs find, at two-sided 5 %.
fn detectable(logs: &[f64]) -> f64 {
    let degrees = logs.len() - 1;
    let errors = quantile(0.975, degrees) + quantile(0.80, degrees);
    (errors * standard_error(logs)).exp() - 1.0
}

/// Returns the verdict by the table of the method.
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
fn assert_same(said: &Value, worked_out: f64, what: &str, cell: &Value) {
    assert_near(said, worked_out, worked_out.abs(), what, cell);
}

#[track_caller]
fn assert_near(said: &Value, worked_out: f64, scale: f64, what: &str, cell: &Value) {
    let said = said.as_f64().unwrap_or_else(|| panic!("{what} is missing from {cell}"));
    assert!(
        (said - worked_out).abs() <= TOLERANCE * scale,
        "{what}: {said} is said and {worked_out} worked out, in {cell}"
    );
}

/// Compares the ends of an interval. An end near 0 is a difference of numbers as large as the other end, and has their
/// error.
#[track_caller]
fn assert_same_interval(said: &Value, worked_out: [f64; 2], what: &str, cell: &Value) {
    let scale = worked_out[0].abs().max(worked_out[1].abs());
    for (end, worked_out) in worked_out.into_iter().enumerate() {
        assert_near(&said[end], worked_out, scale, what, cell);
    }
}

#[test]
fn a_tail_and_its_quantile_belong_together() {
    let t = quantile(0.9, 7);
    assert!((beyond(t, 7) - 0.1).abs() < 1e-9);
}
