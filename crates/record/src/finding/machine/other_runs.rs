//! Other runs of tare on the machine.

use crate::counted;
use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Another run of tare was active.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherRuns {
    /// Number of other runs.
    pub others: u32,
}

impl fmt::Display for OtherRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { others } = self;
        write!(
            f,
            "{} on this machine: the runs disturb one another; measure again without them",
            counted(*others, "other tare run", "other tare runs")
        )
    }
}

impl FindingKind for OtherRuns {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        f64::from(self.others)
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
