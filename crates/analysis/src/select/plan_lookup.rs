//! Lookup of the planned workload of a cell, which itself records the parameters in force.

use tare_record::{Cell, Parameters, Plan, WorkloadPlan};

/// Finds the plan of a cell's workload. If several workloads have its name, returns the one that agrees most with the
/// parameters in force.
pub(crate) fn find_workload_plan<'a>(cell: &Cell, plan: &'a Plan) -> Option<&'a WorkloadPlan> {
    let agreeing = |asked: &Parameters| {
        asked.iter().filter(|(name, value)| cell.parameters.get(*name) == Some(value)).count()
    };
    let of_name = plan.workloads.iter().filter(|workload| workload.name == cell.workload);
    of_name.rev().max_by_key(|workload| agreeing(&workload.parameters))
}
