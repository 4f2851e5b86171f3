//! Throttling of a hot processor.

use crate::counted;
use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The processor was throttled because it was too hot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThrottlingEvents {
    /// Number of throttling events, over all cores.
    pub times: u64,
}

impl fmt::Display for ThrottlingEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { times } = self;
        write!(
            f,
            "the processor was throttled {} because it was too hot: improve its cooling, or pause between runs",
            counted(*times, "time", "times")
        )
    }
}

impl FindingKind for ThrottlingEvents {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.times as f64
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
