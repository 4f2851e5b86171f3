//! Waiting of threads for a core.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Threads that waited for a core explain a part of the spread of the rounds' ratios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreWaiting {
    /// Mean time for which the network's threads waited for a core, per time of its slices.
    pub network: f64,
    /// The same of the baseline's threads.
    pub baseline: f64,
    /// Share of the variance of a block's ratio, as its rounds tell it, that comes with the difference of both.
    pub explained: f64,
    /// Ratio to the baseline if neither had waited longer than the other.
    pub ratio: f64,
    /// 95 % confidence interval of that ratio.
    pub ci95: [f64; 2],
}

impl fmt::Display for CoreWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, baseline, explained, ratio, ci95: [low, high] } = self;
        write!(
            f,
            "its threads waited for a core for {:.1} % of its slices, the baseline's for {:.1} %, which explains {:.0} % of the ratio's variance within blocks; if both had waited alike, the ratio would be {ratio:.3} ({low:.3} to {high:.3})",
            network * 100.0,
            baseline * 100.0,
            explained * 100.0
        )
    }
}

impl FindingKind for CoreWaiting {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        self.explained
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Metric
    }
}
