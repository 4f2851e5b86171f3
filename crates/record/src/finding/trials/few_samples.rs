//! Trials with too few samples for a percentile.

use crate::finding::kind::{FindingKind, FindingWeight};
use crate::{Metric, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Some trials have too few samples for a percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FewSamples {
    /// Metric that is withheld.
    pub metric: Metric,
    /// Smallest number of samples beyond the percentile in any trial.
    pub beyond: u64,
    /// Number of samples that each trial needs.
    #[serde(default = "samples_of_one_piece", skip_serializing_if = "is_of_one_piece")]
    pub needed: u64,
}

impl fmt::Display for FewSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, beyond, needed } = self;
        write!(
            f,
            "{metric} is withheld: a trial has only {} beyond it, and {needed} are needed; use more blocks or a longer --duration",
            counted(*beyond, "sample", "samples")
        )
    }
}

impl FindingKind for FewSamples {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        -(self.beyond as f64)
    }

    fn subject(&self) -> String {
        self.metric.to_string()
    }
}

/// Returns the number of samples beyond a percentile that a trial in one piece needs, which is what earlier versions
/// asked of all trials.
fn samples_of_one_piece() -> u64 {
    100
}

fn is_of_one_piece(needed: &u64) -> bool {
    *needed == samples_of_one_piece()
}
