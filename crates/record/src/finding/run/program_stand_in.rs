//! Program of tare in the place of a network's own.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A program of tare's own carried the packets in the place of the network's own program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramStandIn {
    /// Name of the program that ran.
    pub used: String,
    /// Name of the program that it stands for.
    pub original: String,
    /// Reason why that program did not run.
    pub reason: String,
}

impl fmt::Display for ProgramStandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used, original, reason } = self;
        write!(
            f,
            "{used}, a stand-in of tare's, carried the packets instead of {original}: {reason}"
        )
    }
}

impl FindingKind for ProgramStandIn {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn subject(&self) -> String {
        self.used.clone()
    }
}
