//! Reasons why a measurement ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Condition that ended the measurement. It is never a verdict: checking a verdict while measuring inflates false
/// alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// The number of blocks that the user or the study fixed was measured.
    Blocks,
    /// The number of blocks that the pilot found for the requested precision was measured.
    Precision,
    /// The confidence sequences, which may be checked after every block, were as narrow as requested.
    Sequence,
    /// The last networks were decided at an interim analysis.
    Decided,
    /// The time budget was used up.
    Budget,
    /// A signal interrupted the run.
    Interrupted,
    /// Every network under comparison failed.
    Failed,
}

impl fmt::Display for StoppedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "blocks",
            Self::Precision => "precision",
            Self::Sequence => "sequence",
            Self::Decided => "decided",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        })
    }
}
