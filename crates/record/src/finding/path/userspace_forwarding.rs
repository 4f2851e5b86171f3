//! Forwarding of packets by a program.

use crate::Metric;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A program forwarded the packets: each packet crosses between kernel and user space on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UserspaceForwarding {
    /// Name of the program.
    pub program: String,
    /// Cores that it kept busy (seconds per second), on all nodes together.
    pub cores: f64,
}

impl fmt::Display for UserspaceForwarding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, cores } = self;
        write!(f, "packets pass through user space: {program} took {cores:.2} cores")
    }
}

impl FindingKind for UserspaceForwarding {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        self.cores
    }

    fn subject(&self) -> String {
        self.program.clone()
    }

    fn cost_reason(&self, _metric: Metric) -> Option<String> {
        Some(format!("its packets pass through user space ({})", self.program))
    }
}
