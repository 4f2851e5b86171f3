//! Workload in the place of another.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A workload of the study was replaced, because this build or machine does not have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadStandIn {
    /// Name of the workload in the study.
    pub workload: String,
    /// Name of the workload that was measured instead.
    pub used: String,
    /// Reason for the replacement.
    pub reason: String,
}

impl fmt::Display for WorkloadStandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, used, reason } = self;
        write!(f, "{used} was measured instead of {workload}: {reason}")
    }
}

impl FindingKind for WorkloadStandIn {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
