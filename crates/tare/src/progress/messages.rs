//! Lines of a run that stay on the terminal.

use super::run_clock::format_duration;
use std::time::Duration;
use tare_record::{BlockPolicy, NetworkFailure, Plan, Sizing, StoppedBy};

/// Formats the number of blocks of a plan, if it is fixed, with the expected time or the budget.
pub(super) fn blocks_line(plan: &Plan, block_time: Duration) -> Option<String> {
    let BlockPolicy::Fixed { blocks } = plan.blocks else { return None };
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
    let goal = match plan.blocks {
        BlockPolicy::Precision { precision: Some(share), .. } => format!("± {} %", share * 100.0),
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
    format!("tare: {} blocks, about {time}: {why}", sizing.blocks)
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
