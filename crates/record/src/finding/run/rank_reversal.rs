//! Ranking of two networks that changes with the number of cores.

use crate::Metric;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The ranking of two networks changes with the number of cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankReversal {
    /// Name of the workload.
    pub workload: String,
    /// Metric by which the networks are ranked.
    pub metric: Metric,
    /// Label of the network that is ahead on fewer cores.
    pub ahead: String,
    /// Label of the network that is ahead on more cores.
    pub behind: String,
    /// Smaller number of cores.
    pub fewer: u32,
    /// Larger number of cores.
    pub more: u32,
}

impl fmt::Display for RankReversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, metric, ahead, behind, fewer, more } = self;
        write!(
            f,
            "the ranking changes with the number of cores: in {workload} {metric}, {ahead} is ahead of {behind} on {fewer}, and behind {behind} on {more}"
        )
    }
}

impl FindingKind for RankReversal {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }
}
