//! Different congestion controls of one workload.

use super::NetworksUnderControl;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The programs of a workload, which choose no congestion control, used different ones over different networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixedCongestion {
    /// Name of the workload.
    pub workload: String,
    /// Controls, each with its networks.
    pub controls: Vec<NetworksUnderControl>,
}

impl fmt::Display for MixedCongestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, controls } = self;
        let controls: Vec<String> = controls.iter().map(ToString::to_string).collect();
        write!(
            f,
            "the programs of {workload} used {}: they take the congestion control of their network namespace, and their figures differ by it, too; --congestion system leaves the host's to all",
            controls.join(", and ")
        )
    }
}

impl FindingKind for MixedCongestion {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
