//! Stall of a client.

use crate::Nanos;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A client was stalled for longer than a whole interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientStall {
    /// Longest time without any progress, ns.
    pub longest: Nanos,
}

impl fmt::Display for ClientStall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { longest } = self;
        write!(f, "a client made no progress for {}", longest.rounded())
    }
}

impl FindingKind for ClientStall {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        self.longest.as_secs_f64()
    }
}
