//! Encryption by the cores of the machine.

use crate::Metric;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The traffic is encrypted by the machine's own cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoftwareEncryption {
    /// Encrypting software: `the kernel`, or the names of the programs.
    pub by: String,
}

impl fmt::Display for SoftwareEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by } = self;
        write!(f, "traffic is encrypted in software by {by}: every byte costs CPU time")
    }
}

impl FindingKind for SoftwareEncryption {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn subject(&self) -> String {
        self.by.clone()
    }

    fn cost_reason(&self, _metric: Metric) -> Option<String> {
        Some(format!("{} encrypts every byte in software", self.by))
    }
}
