//! CPU time of other processes.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Other processes used the CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherWork {
    /// CPU time of other processes, as a share of the time of all cores, 0–1.
    pub share: f64,
}

impl fmt::Display for OtherWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { share } = self;
        write!(f, "other programs took {:.0} % of the CPU", share * 100.0)
    }
}

impl FindingKind for OtherWork {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.share
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
