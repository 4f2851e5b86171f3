//! Whether a regression beyond a limit is there, is not there, or cannot be told.

use super::Asked;
use tare_record::{ComparedCell, Gate, Metric, Outcome, Unmatched};

/// Whether a cell is judged. Without a choice of metrics those are that size a run, and loss: tails, jitter and CPU
/// time vary by so much that they would leave every comparison undecided, and each cell more widens the bounds of all.
pub(super) fn judges(cell: &ComparedCell, asked: &Asked) -> bool {
    let metric = cell.cell.metric;
    let chosen = !asked.metrics.is_empty();
    cell.cell.scope == "aggregate" && (chosen || metric.sizes_runs() || metric == Metric::Loss)
}

/// Judges every cell, and all of them together. A cell of the base side that the new side lacks is in doubt.
pub(super) fn judge(
    cells: &mut [ComparedCell],
    judged: &[bool],
    unmatched: &[Unmatched],
    limit: f64,
) -> Gate {
    let mut worst = Outcome::Passed;
    let mut detectable: Option<f64> = None;
    let mut count = 0;
    for (cell, _) in cells.iter_mut().zip(judged).filter(|(_, judged)| **judged) {
        let outcome = outcome(cell, limit);
        cell.outcome = Some(outcome);
        count += 1;
        worst = worse(worst, outcome);
        if let (Outcome::CouldNotTell, Some(change)) = (outcome, &cell.change)
            && !change.difference
        {
            let found = change.regression.detectable;
            detectable = Some(detectable.map_or(found, |most| most.max(found)));
        }
    }
    if count == 0 || unmatched.iter().any(|cell| cell.new == 0) {
        worst = worse(worst, Outcome::CouldNotTell);
    }
    Gate { limit, cells: count, outcome: worst, detectable }
}

fn outcome(cell: &ComparedCell, limit: f64) -> Outcome {
    match &cell.change {
        None => Outcome::CouldNotTell,
        Some(change) => {
            let limit = if change.difference { limit * 100.0 } else { limit };
            if change.regression.lower > limit {
                Outcome::Regression
            } else if change.regression.upper <= limit {
                Outcome::Passed
            } else {
                Outcome::CouldNotTell
            }
        }
    }
}

/// A regression is worse than a doubt, and a doubt than none.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    match (one, other) {
        (Outcome::Regression, _) | (_, Outcome::Regression) => Outcome::Regression,
        (Outcome::CouldNotTell, _) | (_, Outcome::CouldNotTell) => Outcome::CouldNotTell,
        _ => Outcome::Passed,
    }
}
