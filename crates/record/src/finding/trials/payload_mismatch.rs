//! Disagreement of two ends on the amount of payload.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The two ends disagree on the amount of payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PayloadMismatch {
    /// Count of the sending end.
    pub sent: u64,
    /// Count of the receiving end.
    pub received: u64,
}

impl fmt::Display for PayloadMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, received } = self;
        write!(f, "the two ends disagree on the payload: {sent} sent, {received} received")
    }
}

impl FindingKind for PayloadMismatch {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        part_of(self.sent.abs_diff(self.received) as f64, self.sent as f64)
    }
}
