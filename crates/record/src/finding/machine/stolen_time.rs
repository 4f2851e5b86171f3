//! CPU time taken by the hypervisor.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The hypervisor delayed the virtual CPUs of this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StolenTime {
    /// Time taken by the hypervisor, as a share of the time of all cores, 0–1.
    pub share: f64,
}

impl fmt::Display for StolenTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { share } = self;
        write!(
            f,
            "the hypervisor took {:.0} % of the CPU (steal): measure on a machine that is not shared, or with more blocks",
            share * 100.0
        )
    }
}

impl FindingKind for StolenTime {
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
