//! Trials in which nothing arrived.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Nothing arrived in some trials, so that there is no ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SilentTrials {
    /// Number of such trials.
    pub trials: u32,
    /// Number of all trials.
    pub of: u32,
}

impl fmt::Display for SilentTrials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trials, of } = self;
        write!(f, "the figure is 0 in {trials} of {of} trials, so there is no ratio")
    }
}

impl FindingKind for SilentTrials {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        part_of(f64::from(self.trials), f64::from(self.of))
    }
}
