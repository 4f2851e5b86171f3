//! Rate search that ran out of time.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A search ran out of time before its bounds were as close as requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnfinishedSearch {
    /// Distance of the bounds, as a share of the upper one.
    pub width: f64,
}

impl fmt::Display for UnfinishedSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width } = self;
        write!(
            f,
            "the search ran out of time with its bounds {:.1} % apart: use a longer --duration",
            width * 100.0
        )
    }
}

impl FindingKind for UnfinishedSearch {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        self.width
    }
}
