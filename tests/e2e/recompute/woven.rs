//! Woven trials, after docs/METHOD.md: ratios of rounds, and percentiles of pools of blocks.

use super::figures::{TrialFigure, clients, figure, latency};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use support::text;

/// Returns the figures of a trial's rounds, or of fifths of them. Returns `None` if it was not woven, or if they are too
/// short for the metric.
pub(crate) fn rounds(trial: &Value, metric: &str) -> Option<Vec<f64>> {
    if trial["slices"].is_null() {
        return None;
    }
    let clients = clients(trial);
    if ["_p95", "_p99", "_p99.9"].iter().any(|point| metric.ends_with(point)) {
        return fifths(&clients, metric);
    }
    let fewest = match metric {
        "throughput" | "transactions" | "connections" => None,
        "latency_p50" => Some(200),
        _ => return None,
    };
    (0..clients.iter().map(Vec::len).min()?)
        .map(|at| {
            let operations: u64 =
                clients.iter().filter_map(|client| client[at]["operations"].as_u64()).sum();
            if fewest.is_some_and(|fewest| operations < fewest) {
                return None;
            }
            match figure(trial, &clients, at, at + 1, metric) {
                TrialFigure::Value(value) => Some(value),
                TrialFigure::TooFew | TrialFigure::Nothing => None,
            }
        })
        .collect()
}

/// Returns a percentile of each fifth of the rounds, in order. Returns `None` if all together have fewer than 75 samples
/// beyond it.
fn fifths(clients: &[Vec<&Value>], metric: &str) -> Option<Vec<f64>> {
    let rounds = clients.iter().map(Vec::len).min().filter(|&rounds| rounds >= 5)?;
    let of = |needed: f64, from: usize, to: usize| match latency(metric, needed, clients, from, to)
    {
        TrialFigure::Value(value) => Some(value),
        TrialFigure::TooFew | TrialFigure::Nothing => None,
    };
    of(75.0, 0, rounds)?;
    (0..5).map(|part| of(0.0, part * rounds / 5, (part + 1) * rounds / 5)).collect()
}

/// Returns the mean of the rounds' log ratios without the fifth at either end. Returns `None` if they have no such mean.
pub(crate) fn trimmed_log_ratio(above: &[f64], below: &[f64]) -> Option<f64> {
    let mut logs: Vec<f64> =
        above.iter().zip(below).map(|(one, other)| (one / other).ln()).collect();
    if above.len() != below.len() || logs.is_empty() || logs.iter().any(|log| log.is_nan()) {
        return None;
    }
    logs.sort_by(f64::total_cmp);
    let cut = logs.len() / 5;
    let kept = &logs[cut..logs.len() - cut];
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    mean.is_finite().then_some(mean)
}

/// Returns the samples of every network of a comparison, each of a pool of blocks, by label. Returns `None` if there are
/// no pools of at most half of the blocks that are large enough.
pub(crate) fn pooled(trials: &[&Value], metric: &str) -> Option<BTreeMap<String, Vec<(u64, f64)>>> {
    if trials.iter().any(|trial| trial["slices"].is_null()) {
        return None;
    }
    let mut by_label: BTreeMap<&str, BTreeMap<u64, &Value>> = BTreeMap::new();
    for trial in trials {
        let block = trial["block"].as_u64().expect("a number");
        by_label.entry(text(trial, "label")).or_default().insert(block, trial);
    }
    let blocks: Vec<BTreeSet<u64>> =
        by_label.values().map(|trials| trials.keys().copied().collect()).collect();
    let common: Vec<u64> = blocks[0]
        .iter()
        .copied()
        .filter(|block| blocks.iter().all(|of| of.contains(block)))
        .collect();
    (2..=common.len() / 2).find_map(|size| {
        let of_label = |trials: &BTreeMap<u64, &Value>| -> Option<Vec<(u64, f64)>> {
            common.chunks_exact(size).map(|pool| pool_figure(trials, pool, metric)).collect()
        };
        by_label
            .iter()
            .map(|(label, trials)| Some(((*label).to_owned(), of_label(trials)?)))
            .collect()
    })
}

/// Returns a pool's first block, and the figure of all its trials together.
fn pool_figure(trials: &BTreeMap<u64, &Value>, pool: &[u64], metric: &str) -> Option<(u64, f64)> {
    // All intervals of the pool, as if one client after another had made them.
    let all: Vec<Vec<&Value>> =
        vec![pool.iter().flat_map(|block| clients(trials[block]).concat()).collect()];
    match figure(trials[&pool[0]], &all, 0, all[0].len(), metric) {
        TrialFigure::Value(value) => Some((pool[0], value)),
        TrialFigure::TooFew | TrialFigure::Nothing => None,
    }
}
