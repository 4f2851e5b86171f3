//! Difference of the frequency of the cores between trials.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The cores ran at a higher frequency in some trials than in others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrequencyChange {
    /// Frequency under load in the slowest trial, MHz.
    pub lowest: f64,
    /// Frequency under load in the fastest trial, MHz.
    pub highest: f64,
}

impl fmt::Display for FrequencyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lowest, highest } = self;
        write!(
            f,
            "the cores ran at {lowest:.0} MHz in one trial and at {highest:.0} MHz in another: set the governor `performance`, and disable boost"
        )
    }
}

impl FindingKind for FrequencyChange {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        part_of(self.highest, self.lowest)
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
