//! Network processing by one core.

use crate::Metric;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One core did all the network processing in software interrupts, while others did little of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoftirqConcentration {
    /// Number of the core.
    pub core: u32,
    /// Share of the core's time in software interrupts, 0–1.
    pub share: f64,
    /// Mean share of the other cores, 0–1.
    pub others: f64,
}

impl fmt::Display for SoftirqConcentration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, share, others } = self;
        write!(
            f,
            "core {core} spent {:.0} % of its time in softirq, the others {:.0} %: the path does not spread over cores",
            share * 100.0,
            others * 100.0
        )
    }
}

impl FindingKind for SoftirqConcentration {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        self.share - self.others
    }

    fn cost_reason(&self, _metric: Metric) -> Option<String> {
        Some("one core does nearly all of its packet processing".to_owned())
    }
}
