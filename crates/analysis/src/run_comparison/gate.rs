//! Gate of a comparison: passed, failed by a regression beyond a limit, or undecided.

use super::CompareOptions;
use tare_record::{ComparedCell, GateOutcome, Metric, RegressionGate, UnmatchedCell};

/// Returns `true` if the gate judges a cell. Without a choice of metrics those are the metrics that size a run, and
/// loss: tails, jitter and CPU time vary by so much that they would leave every comparison undecided, and each further
/// cell widens the bounds of all.
pub(super) fn is_judged(cell: &ComparedCell, asked: &CompareOptions) -> bool {
    let metric = cell.cell.metric;
    let chosen = !asked.metrics.is_empty();
    cell.cell.scope == "aggregate"
        && (chosen || metric.decides_block_count() || metric == Metric::Loss)
}

/// Judges every cell, and all of them together. If the new side lacks a cell of the base side, the outcome is at best
/// undecided.
pub(super) fn judge(
    cells: &mut [ComparedCell],
    judged: &[bool],
    unmatched: &[UnmatchedCell],
    limit: f64,
) -> RegressionGate {
    let mut worst = GateOutcome::Passed;
    let mut detectable: Option<f64> = None;
    let mut count = 0;
    for (cell, _) in cells.iter_mut().zip(judged).filter(|(_, judged)| **judged) {
        let outcome = outcome(cell, limit);
        cell.outcome = Some(outcome);
        count += 1;
        worst = worse_outcome(worst, outcome);
        if let (GateOutcome::CouldNotTell, Some(change)) = (outcome, &cell.change)
            && !change.difference
        {
            let found = change.regression.detectable;
            detectable = Some(detectable.map_or(found, |most| most.max(found)));
        }
    }
    if count == 0 || unmatched.iter().any(|cell| cell.new == 0) {
        worst = worse_outcome(worst, GateOutcome::CouldNotTell);
    }
    RegressionGate { limit, cells: count, outcome: worst, detectable }
}

fn outcome(cell: &ComparedCell, limit: f64) -> GateOutcome {
    match &cell.change {
        None => GateOutcome::CouldNotTell,
        Some(change) => {
            let limit = if change.difference { limit * 100.0 } else { limit };
            if change.regression.lower > limit {
                GateOutcome::Regression
            } else if change.regression.upper <= limit {
                GateOutcome::Passed
            } else {
                GateOutcome::CouldNotTell
            }
        }
    }
}

/// Returns the worse of two outcomes: a regression is worse than an undecided outcome, which is worse than a pass.
fn worse_outcome(one: GateOutcome, other: GateOutcome) -> GateOutcome {
    match (one, other) {
        (GateOutcome::Regression, _) | (_, GateOutcome::Regression) => GateOutcome::Regression,
        (GateOutcome::CouldNotTell, _) | (_, GateOutcome::CouldNotTell) => {
            GateOutcome::CouldNotTell
        }
        _ => GateOutcome::Passed,
    }
}
