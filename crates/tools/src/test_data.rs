//! Tasks for tests.

use std::net::SocketAddr;
use tare_record::{Nanos, Parameters};
use tare_traffic::{TrialTask, WorkloadRegistry};

/// Creates a task: one flow of a tool, 50 ms, with the tool's default parameters.
pub(crate) fn task_of(tool: &str, addresses: Vec<SocketAddr>) -> TrialTask {
    let registry: WorkloadRegistry = crate::workloads().into_iter().collect();
    let found = registry.find(tool);
    let parameters = found.and_then(|one| one.resolve(&Parameters::new())).unwrap_or_default();
    let alone = TrialTask::single_flow(tool, parameters, Nanos(50_000_000), Nanos(10_000_000));
    TrialTask { addresses, token: 1, one_clock: true, ..alone }
}
