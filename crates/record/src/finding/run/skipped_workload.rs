//! Workload of a study that was left out.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A workload of the study was left out, because this build or machine does not have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedWorkload {
    /// Name of the workload.
    pub workload: String,
    /// Reason why it was left out.
    pub reason: String,
    /// Action that would make it run.
    pub remedy: String,
}

impl fmt::Display for SkippedWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, reason, remedy } = self;
        write!(f, "{workload} was skipped: {reason}; {remedy}")
    }
}

impl FindingKind for SkippedWorkload {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
