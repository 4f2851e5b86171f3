//! Figure of a network that the kernel did not tell.

use crate::Metric;
use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kernel did not answer for a figure of a network itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InspectionFailure {
    /// Label of the network.
    pub network: String,
    /// Metric of the figure.
    pub metric: Metric,
    /// Number of the network's turns without the figure.
    pub turns: u32,
    /// Number of all its turns.
    pub of: u32,
    /// Error in the first of them.
    pub reason: String,
}

impl fmt::Display for InspectionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, metric, turns, of, reason } = self;
        write!(f, "{metric} of {network} could not be read in {turns} of its {of} turns: {reason}")
    }
}

impl FindingKind for InspectionFailure {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        part_of(f64::from(self.turns), f64::from(self.of))
    }
}
