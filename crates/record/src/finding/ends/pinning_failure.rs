//! Threads that are not pinned to their cores.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The threads could not be pinned to the requested cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinningFailure {
    /// Reason why pinning failed.
    pub reason: String,
}

impl fmt::Display for PinningFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason } = self;
        write!(f, "the threads are not pinned to the requested cores: {reason}")
    }
}

impl FindingKind for PinningFailure {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn subject(&self) -> String {
        self.reason.clone()
    }
}
