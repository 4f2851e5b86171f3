//! What was asked for, of a cell that says what was in force.

use tare_record::{Cell, Parameters, Plan, WorkloadPlan};

/// The plan of a cell's workload: of several workloads of its name that of the one that agrees most with what was in
/// force.
pub(crate) fn asked<'a>(cell: &Cell, plan: &'a Plan) -> Option<&'a WorkloadPlan> {
    let agreeing = |asked: &Parameters| {
        asked.iter().filter(|(name, value)| cell.parameters.get(*name) == Some(value)).count()
    };
    let of_name = plan.workloads.iter().filter(|workload| workload.name == cell.workload);
    of_name.rev().max_by_key(|workload| agreeing(&workload.parameters))
}
