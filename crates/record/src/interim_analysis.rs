//! Planned interim analyses of a run, at which decided networks leave it.

use crate::Shape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Planned analysis of a run before its end. Intervals and p-values hold over all of a run's analyses together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterimAnalysis {
    /// Number of blocks that are complete.
    pub blocks: u32,
    /// Share of the run's planned information that they are, 0 to 1: of its blocks, or of its time.
    pub information: f64,
    /// Networks that are decided from here on, and no longer measured.
    pub decided: Vec<DecidedNetwork>,
}

/// Network that an interim analysis decided, in one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedNetwork {
    /// Label of the network.
    pub network: String,
    /// Shape in which the network is no longer measured.
    pub shape: Shape,
}

impl InterimAnalysis {
    /// Returns true if this analysis decided a network, by its label, in a shape.
    #[must_use]
    pub fn decides(&self, network: &str, shape: &Shape) -> bool {
        self.decided.iter().any(|one| one.network == network && one.shape == *shape)
    }
}
