//! Drift of a network's level from block to block.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The level of a network drifted from block to block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDrift {
    /// Change from the first block to the last, relative to the mean.
    pub change: f64,
    /// Two-sided p-value of no trend, corrected for the number of networks.
    pub p: f64,
}

impl fmt::Display for BlockDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, .. } = self;
        write!(
            f,
            "the level drifted by {:+.1} % from the first block to the last: means are affected, ratios within blocks are not",
            change * 100.0
        )
    }
}

impl FindingKind for BlockDrift {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.change.abs()
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Metric
    }
}
