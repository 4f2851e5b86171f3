//! Tasks for tests.

use crate::{TrialTask, WorkloadRegistry};
use std::net::SocketAddr;
use tare_record::{Nanos, Parameters};

/// Returns the registry of this crate's workloads.
pub(crate) fn registry() -> WorkloadRegistry {
    crate::workloads().into_iter().collect()
}

impl TrialTask {
    /// Creates a task for tests: one flow, 50 ms, with the workload's default parameters.
    pub(crate) fn for_test(workload: &str, addresses: Vec<SocketAddr>) -> Self {
        let registry = registry();
        let found = registry.find(workload);
        let parameters = found.and_then(|one| one.resolve(&Parameters::new())).unwrap_or_default();
        let alone = Self::single_flow(workload, parameters, Nanos(50_000_000), Nanos(10_000_000));
        Self { addresses, token: 1, one_clock: true, ..alone }
    }
}
