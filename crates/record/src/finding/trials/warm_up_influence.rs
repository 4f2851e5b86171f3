//! Influence of the warm-up on an estimate.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Removing the warm-up changed the estimate by more than half the width of its confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpInfluence {
    /// Estimate with the warm-up included, in the metric's unit.
    pub uncut: f64,
    /// Estimate with the warm-up removed, in the metric's unit.
    pub cut: f64,
}

impl fmt::Display for WarmUpInfluence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uncut, cut } = self;
        write!(f, "the warm-up changes the figure: {uncut:.4} with the warm-up, {cut:.4} without")
    }
}

impl FindingKind for WarmUpInfluence {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        part_of((self.uncut - self.cut).abs(), self.cut.abs())
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Metric
    }
}
