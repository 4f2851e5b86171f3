//! Kernel-wide table that is nearly full.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A kernel-wide table, shared by all namespaces, is nearly full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LowHeadroom {
    /// Name of the table: `neighbours`, `conntrack`, `pids`, `memory`.
    pub resource: String,
    /// Amount in use.
    pub used: u64,
    /// Upper limit.
    pub limit: u64,
}

impl fmt::Display for LowHeadroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, used, limit } = self;
        write!(
            f,
            "little headroom for {resource}: {used} of {limit} used, shared by all namespaces"
        )
    }
}

impl FindingKind for LowHeadroom {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        part_of(self.used as f64, self.limit as f64)
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }

    fn subject(&self) -> String {
        self.resource.clone()
    }
}
