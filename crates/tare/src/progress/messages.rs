//! Lines of a run that stay on the terminal.

use super::run_clock::format_duration;
use std::collections::BTreeSet;
use std::time::Duration;
use tare_record::{
    BlockPolicy, InterimAnalysis, NetworkFailure, Plan, Sizing, StoppedBy, WorkloadPlan,
};
use tare_study::slice_choice::SliceChoice;

/// Formats the number of blocks of a plan, if it has one before the first, with the expected time or the budget.
pub(super) fn blocks_line(plan: &Plan, block_time: Duration) -> Option<String> {
    let blocks = match plan.blocks {
        BlockPolicy::Fixed { blocks } => blocks,
        BlockPolicy::GroupSequential { at_most, .. } => at_most,
        BlockPolicy::Precision { .. } | BlockPolicy::Sequence { .. } => return None,
    };
    let time = block_time.saturating_mul(blocks);
    let noun = if blocks == 1 { "block" } else { "blocks" };
    let budget = plan.budget.map(Duration::from).filter(|budget| *budget < time);
    // A number far beyond what fits is no plan.
    let is_far = budget.is_some_and(|budget| budget.saturating_mul(10) < time);
    Some(match budget.map(format_duration) {
        Some(budget) if is_far => format!("tare: as many blocks as fit into {budget}"),
        Some(budget) => format!("tare: {blocks} {noun}, or as many as fit into {budget}"),
        None => format!("tare: {blocks} {noun}, about {}", format_duration(time)),
    })
}

/// Formats the decision on the number of blocks: number, time, and reason.
pub(super) fn sizing_line(plan: &Plan, sizing: &Sizing) -> String {
    let each: Duration = sizing.block_time.into();
    let time = format_duration(each * sizing.blocks);
    let is_group_sequential = matches!(plan.blocks, BlockPolicy::GroupSequential { .. });
    let goal = match plan.blocks {
        BlockPolicy::Precision { precision: Some(share), .. }
        | BlockPolicy::GroupSequential { precision: Some(share), .. } => {
            format!("± {} %", share * 100.0)
        }
        _ => "half of each margin".to_owned(),
    };
    let why = match sizing.decided_by {
        StoppedBy::Budget => {
            let budget =
                plan.budget.map(|budget| format_duration(budget.into())).unwrap_or_default();
            format!(
                "a precision of {goal} needs {}, but the budget of {budget} allows only {}",
                sizing.needed, sizing.blocks
            )
        }
        StoppedBy::Blocks => {
            format!("a precision of {goal} needs {}, but the study allows no more", sizing.needed)
        }
        _ => format!("for a precision of {goal}"),
    };
    let limit = if is_group_sequential { "at most " } else { "" };
    format!("tare: {limit}{} blocks, about {time}: {why}", sizing.blocks)
}

/// Formats the slices of a workload for the rest of a run, and the spreads from which they follow.
pub(super) fn slices_line(workload: &WorkloadPlan, choice: &SliceChoice) -> String {
    let SliceChoice { slices, round_spread, raise_spread } = choice;
    let percent = |spread: &f64| spread.exp_m1() * 100.0;
    format!(
        "tare: {}: {} slices of {} for each network in a block; ratios differ by {:.1} % from slice to slice, by {:.1} % from raise to raise",
        workload.name,
        slices.rounds,
        slices.length,
        percent(round_spread),
        percent(raise_spread)
    )
}

/// Formats the networks that an interim analysis decided. Returns `None` if there are none.
pub(super) fn analysis_line(analysis: &InterimAnalysis) -> Option<String> {
    let decided: BTreeSet<&str> =
        analysis.decided.iter().map(|decided| decided.network.as_str()).collect();
    let names = decided.into_iter().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!("tare: decided after {} blocks, and no longer measured: {names}", analysis.blocks)
    })
}

/// Formats a failure after which the same is tried once again.
pub(super) fn first_failure_line(failure: &NetworkFailure) -> String {
    let NetworkFailure { network, workload, reason, .. } = failure;
    let with =
        workload.as_ref().map_or_else(String::new, |name| format!(" with the workload {name}"));
    format!("tare: {network} failed{with}, and is tried once again, raised anew: {reason}")
}

/// Formats a failure, and what is not tried again because of it.
pub(super) fn failure_line(failure: &NetworkFailure) -> String {
    let NetworkFailure { network, workload, reason, .. } = failure;
    match workload {
        Some(name) => format!(
            "tare: {network} failed with the workload {name}, which is not measured on this network in this shape again: {reason}"
        ),
        None => {
            format!("tare: {network} failed, and is not measured in this shape again: {reason}")
        }
    }
}
