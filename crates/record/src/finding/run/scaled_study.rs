//! Run that is shorter than its study.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The run is shorter than the study that it follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaledStudy {
    /// Changes to the study, in words.
    pub changes: Vec<String>,
}

impl fmt::Display for ScaledStudy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changes } = self;
        write!(f, "the run is shorter than the study: {}", changes.join("; "))
    }
}

impl FindingKind for ScaledStudy {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
