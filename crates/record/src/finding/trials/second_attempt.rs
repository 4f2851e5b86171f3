//! Second attempt of a trial.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The first attempt of the trial failed, and the trial was run again over its network raised anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondAttempt {
    /// Reason of the failure.
    pub reason: String,
}

impl fmt::Display for SecondAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason } = self;
        write!(
            f,
            "a trial was run again over its network raised anew, because its first attempt failed: {reason}"
        )
    }
}

impl FindingKind for SecondAttempt {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
