//! Trials without a steady state.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Some trials never reached a steady state; they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnsettledTrials {
    /// Number of such trials.
    pub trials: u32,
    /// Number of all trials.
    pub of: u32,
}

impl fmt::Display for UnsettledTrials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trials, of } = self;
        write!(f, "{trials} of {of} trials never reached a steady state; they are kept")
    }
}

impl FindingKind for UnsettledTrials {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        part_of(f64::from(self.trials), f64::from(self.of))
    }
}
