//! Levels of interim analyses, after docs/METHOD.md, "Interim analyses": the distribution of a sum of normal values is
//! carried from analysis to analysis on a fine grid.

use serde_json::Value;
use support::list;

/// Points of the grid over both sides of the sum.
const POINTS: i32 = 1_600;

/// Distance from zero beyond which the distribution is cut off, in standard deviations.
const FARTHEST: f64 = 8.0;

/// Number of pairs of figures at an analysis, and the share of the planned information.
pub(crate) type Analysis = (f64, f64);

/// Returns the analyses of a network of the document in the shape of its cell, which has a pair of figures with the
/// baseline in each of these blocks.
pub(crate) fn analyses(document: &Value, cell: &Value, blocks: &[u64]) -> Vec<Analysis> {
    analyses_until(interim_analyses(document), 1.0, cell, blocks)
}

/// Returns the interim analysis that decided the network of a cell, by its index. Returns `None` if none did.
pub(crate) fn decision(document: &Value, cell: &Value) -> Option<usize> {
    interim_analyses(document).iter().position(|analysis| decides(analysis, cell))
}

/// Returns the interim analyses of a run, none if none were planned.
fn interim_analyses(document: &Value) -> &[Value] {
    document["interim_analyses"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the analyses as [`analyses`] does, at the interim analysis of this index, with the blocks that were there.
pub(crate) fn analyses_at(
    document: &Value,
    index: usize,
    cell: &Value,
    blocks: &[u64],
) -> Vec<Analysis> {
    let all = interim_analyses(document);
    let until = all[index]["blocks"].as_u64().expect("a number");
    let there: Vec<u64> = blocks.iter().copied().filter(|block| *block < until).collect();
    let information = all[index]["information"].as_f64().expect("a share");
    analyses_until(&all[..index], information, cell, &there)
}

fn decides(analysis: &Value, cell: &Value) -> bool {
    list(analysis, "decided")
        .iter()
        .any(|one| one["network"] == cell["label"] && one["shape"] == cell["shape"])
}

/// Returns the analyses of a cell: these earlier ones, and the present one with this share of the information.
fn analyses_until(earlier: &[Value], present: f64, cell: &Value, blocks: &[u64]) -> Vec<Analysis> {
    let mut analyses: Vec<Analysis> = Vec::new();
    let all = blocks.len() as f64;
    for analysis in earlier {
        let until = analysis["blocks"].as_u64().expect("a number");
        let information = analysis["information"].as_f64().expect("a share");
        if decides(analysis, cell) {
            analyses.push((all, information));
            return analyses;
        }
        let pairs = blocks.iter().filter(|block| **block < until).count() as f64;
        if pairs >= 2.0 && pairs < all && analyses.last().is_none_or(|last| last.0 < pairs) {
            analyses.push((pairs, information));
        }
    }
    analyses.push((all, present));
    analyses
}

/// Returns the two-sided level of the last analysis, if all together may err with this probability.
pub(crate) fn level(analyses: &[Analysis], alpha: f64) -> f64 {
    // The share of paths that have crossed no boundary, by the place of the sum.
    let mut grid: Vec<(f64, f64)> = vec![(0.0, 1.0)];
    let (mut before, mut spent) = (0.0, 0.0);
    let mut level = 0.0;
    for &(values, information) in analyses {
        let spends = spending(alpha, information) - spent;
        let step = (values - before).sqrt();
        let crossing = |z: f64| -> f64 {
            let edge = z * values.sqrt();
            let beyond =
                |at: f64| normal_tail((edge - at) / step) + normal_tail((edge + at) / step);
            grid.iter().map(|(at, weight)| weight * beyond(*at)).sum()
        };
        let boundary = bisect(|z| crossing(z) > spends);
        level = 2.0 * normal_tail(boundary);
        grid = advance(&grid, step, boundary * values.sqrt());
        (before, spent) = (values, spent + spends);
    }
    level
}

/// Returns the grid between the boundaries after more values, by the trapezoidal rule.
fn advance(grid: &[(f64, f64)], step: f64, edge: f64) -> Vec<(f64, f64)> {
    let width = 2.0 * edge / f64::from(POINTS);
    let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    (0..=POINTS)
        .map(|nth| {
            let at = f64::from(nth) * width - edge;
            let arrives: f64 =
                grid.iter().map(|(from, weight)| weight * density((at - from) / step) / step).sum();
            let share = if nth == 0 || nth == POINTS { 0.5 } else { 1.0 };
            (at, share * width * arrives)
        })
        .collect()
}

/// Returns the error that is spent on both sides until this share of the information is there.
fn spending(alpha: f64, information: f64) -> f64 {
    let quarter = bisect(|z| normal_tail(z) > alpha / 4.0);
    4.0 * normal_tail(quarter / information.sqrt())
}

/// Returns the place between 0 and the farthest at which a condition ceases to hold.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, FARTHEST);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// Returns the share of the normal distribution above `z`, by the continued fraction of Laplace, and near zero by the
/// series of the density.
fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z < 3.0 {
        let (mut term, mut sum) = (z, z);
        for nth in 1..80 {
            term *= z * z / f64::from(2 * nth + 1);
            sum += term;
        }
        return 0.5 - density * sum;
    }
    density / (1..=60).rev().fold(z, |fraction, nth| z + f64::from(nth) / fraction)
}

#[test]
fn the_levels_are_those_of_the_literature() {
    // Five equally spaced analyses at two-sided 5 %: Jennison and Turnbull 1999, and `ldbounds` of R.
    let analyses: Vec<Analysis> =
        (1..=5).map(|nth| (f64::from(nth), f64::from(nth) / 5.0)).collect();
    for (count, z) in [(2, 3.357), (3, 2.680), (4, 2.290), (5, 2.031)] {
        let found = level(&analyses[..count], 0.05);
        assert!((found / (2.0 * normal_tail(z)) - 1.0).abs() < 2e-3, "{count}: {found}");
    }
    assert!((level(&[(9.0, 1.0)], 0.05) - 0.05).abs() < 1e-9);
}
