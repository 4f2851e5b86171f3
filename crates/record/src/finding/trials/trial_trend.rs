//! Drift of the level within trials.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The level drifted within trials after their warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialTrend {
    /// Number of such trials.
    pub trials: u32,
    /// Number of all trials.
    pub of: u32,
    /// Change from beginning to end, relative to the mean, median over those trials.
    pub change: f64,
}

impl fmt::Display for TrialTrend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trials, of, change } = self;
        write!(
            f,
            "a trend within {trials} of {of} trials: {:+.1} % from beginning to end",
            change * 100.0
        )
    }
}

impl FindingKind for TrialTrend {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        self.change.abs()
    }
}
