//! Rate search that ended at the limit of the sender.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A search ended at the highest rate of the sender; the network may carry more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchLimitedBySender {
    /// Highest rate of the sender, datagrams per second.
    pub rate: f64,
}

impl fmt::Display for SearchLimitedBySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate } = self;
        write!(
            f,
            "the sender cannot send more than {rate:.0} datagrams/s: the network may carry more"
        )
    }
}

impl FindingKind for SearchLimitedBySender {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        -self.rate
    }
}
