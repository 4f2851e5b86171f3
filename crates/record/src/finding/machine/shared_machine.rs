//! Nodes that are namespaces of one machine.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The nodes are namespaces of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SharedMachine {
    /// Number of cores that all nodes share.
    pub cores: u32,
}

impl fmt::Display for SharedMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores } = self;
        write!(
            f,
            "all nodes share {cores} cores of one machine, without a NIC: the figures show CPU cost, not wire speed"
        )
    }
}

impl FindingKind for SharedMachine {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
