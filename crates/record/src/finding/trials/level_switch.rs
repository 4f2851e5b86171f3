//! Switch of the level within trials.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The level changed within trials after their warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelSwitch {
    /// Number of such trials.
    pub trials: u32,
    /// Number of all trials.
    pub of: u32,
    /// Ratio of the larger level to the smaller, median over those trials.
    pub ratio: f64,
}

impl fmt::Display for LevelSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trials, of, ratio } = self;
        write!(f, "the level changed within {trials} of {of} trials, by a factor of {ratio:.2}")
    }
}

impl FindingKind for LevelSwitch {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        self.ratio
    }
}
