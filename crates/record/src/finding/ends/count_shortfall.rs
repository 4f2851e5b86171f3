//! Trial that ended before its number of transactions.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The time of a trial ended it before its number of transactions was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountShortfall {
    /// Number of transactions requested.
    pub asked: u64,
    /// Number of transactions completed.
    pub completed: u64,
}

impl fmt::Display for CountShortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, completed } = self;
        write!(
            f,
            "a trial ended by its time after {completed} of {asked} requested transactions: use a longer --duration or a smaller --count"
        )
    }
}

impl FindingKind for CountShortfall {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        1.0 - part_of(self.completed as f64, self.asked as f64)
    }
}
