//! Busy-waiting threads on a shared core.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Busy-waiting threads share a core, so that they take CPU time from one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpinningThreads {
    /// Number of busy-waiting threads.
    pub threads: u32,
    /// Number of cores that they run on.
    pub cores: u32,
}

impl fmt::Display for SpinningThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threads, cores } = self;
        write!(
            f,
            "{threads} busy-waiting threads share {cores} cores and delay one another: use fewer flows, or more cores with --cpus"
        )
    }
}

impl FindingKind for SpinningThreads {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        part_of(f64::from(self.threads), f64::from(self.cores))
    }
}
