//! Text above and below the tables of a comparison.

use super::rows::name;
use crate::number::percent;
use crate::text::one_line;
use tare_record::{
    CellKey, ComparedCell, ComparedRun, Comparison, EnvironmentDifference, GateOutcome, SampleUnit,
    counted,
};

/// Describes the two sides in one line.
pub(super) fn headline(comparison: &Comparison) -> String {
    let unit = match comparison.unit {
        SampleUnit::Session => "sampling unit: session",
        SampleUnit::Block => "sampling unit: block",
    };
    let sides = format!("base {} · new {}", side(&comparison.base), side(&comparison.new));
    one_line(&format!("{sides} · {} compared · {unit}", comparison.of))
}

fn side(sessions: &[ComparedRun]) -> String {
    match sessions {
        [one] => format!("{} (Linux {})", one.directory, one.kernel),
        several => {
            let mut kernels: Vec<&str> =
                several.iter().map(|session| session.kernel.as_str()).collect();
            kernels.sort_unstable();
            kernels.dedup();
            format!("{} runs (Linux {})", several.len(), kernels.join(", "))
        }
    }
}

/// Explains the tables, one paragraph a line.
pub(super) fn legend(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    if comparison.cells.iter().any(|cell| cell.change.is_some()) {
        lines.push(
            "change: new over base, or new minus base in points · verdicts as in a run, with Holm's correction over all cells"
                .to_owned(),
        );
    }
    lines.extend(gate(comparison));
    lines
}

/// Describes the result of the regression limit. Returns `None` if the comparison has no limit.
fn gate(comparison: &Comparison) -> Option<String> {
    let gate = comparison.gate.as_ref()?;
    let limit = percent(gate.limit);
    let cells = counted(gate.cells, "cell", "cells");
    Some(match gate.outcome {
        GateOutcome::Passed => format!("limit {limit}: none of {cells} is worse by more"),
        GateOutcome::Regression => {
            let named: Vec<String> = comparison
                .cells
                .iter()
                .filter(|cell| cell.outcome == Some(GateOutcome::Regression))
                .map(|cell| worse(cell, comparison))
                .collect();
            format!("limit {limit}, exceeded: {}", named.join("; "))
        }
        GateOutcome::CouldNotTell => {
            let found = gate.detectable.map_or_else(String::new, |found| {
                format!(
                    "; a regression of {} would have been found in 80 % of such comparisons: more runs on each side find smaller ones",
                    percent(found)
                )
            });
            format!("limit {limit}: some of {cells} are undecided{found}")
        }
    })
}

/// Describes a regression with its lower bound.
fn worse(cell: &ComparedCell, comparison: &Comparison) -> String {
    let name = name(&cell.cell, || keys(comparison));
    cell.change.as_ref().map_or_else(
        || name.clone(),
        |change| {
            let (value, lower) = (change.regression.value, change.regression.lower);
            if change.difference {
                format!("{name} by {value:.3} points, at least {lower:.3}")
            } else {
                format!("{name} by {}, at least {}", percent(value), percent(lower))
            }
        },
    )
}

fn keys(comparison: &Comparison) -> impl Iterator<Item = &CellKey> {
    comparison.cells.iter().map(|cell| &cell.cell)
}

/// Lists other differences, cells that cannot be compared, and results with weak evidence, one line each.
pub(super) fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    if comparison.unit == SampleUnit::Block {
        lines.push(
            "note: one run on each side: the usual difference between sessions counts as a change; name several runs by --base and --new"
                .to_owned(),
        );
    }
    let (meant, other): (Vec<&EnvironmentDifference>, Vec<&EnvironmentDifference>) =
        comparison.differences.iter().partition(|one| one.intended);
    lines.extend(meant.iter().map(|one| difference("intended", one)));
    lines.extend(unchanged(comparison, &meant));
    lines.extend(other.iter().map(|one| difference("also differs", one)));
    lines.extend(comparison.cells.iter().filter_map(|cell| {
        let withheld = cell.withheld.as_ref()?;
        let name = name(&cell.cell, || keys(comparison));
        Some(format!("note: {name}: {}", withheld.reason))
    }));
    lines.extend(comparison.unmatched.iter().map(|one| {
        let all = || comparison.unmatched.iter().map(|one| &one.cell);
        let of = |n: u32, side: &[ComparedRun]| format!("{n} of {}", side.len());
        format!(
            "unmatched: {}: in {} base and {} new",
            name(&one.cell, all),
            of(one.base, &comparison.base),
            of(one.new, &comparison.new)
        )
    }));
    lines.iter().map(|line| one_line(line)).collect()
}

fn difference(word: &str, one: &EnvironmentDifference) -> String {
    format!("{word}: {}: base {}; new {}", one.what, one.base.join(" | "), one.new.join(" | "))
}

/// Notes that the intended change did not take place. Returns `None` if it did, or if none was intended.
fn unchanged(comparison: &Comparison, meant: &[&EnvironmentDifference]) -> Option<String> {
    let none = comparison.vary.is_empty() || !meant.is_empty();
    (!none).then(|| format!("note: {} is the same on both sides", comparison.vary.join(", ")))
}
