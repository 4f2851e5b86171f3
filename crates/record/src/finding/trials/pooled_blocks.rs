//! Percentiles of several blocks together.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A woven block has too few samples for a percentile: each figure is one of several blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledBlocks {
    /// Number of blocks of each figure.
    pub blocks: u32,
}

impl fmt::Display for PooledBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blocks } = self;
        write!(
            f,
            "one block has too few samples beyond the percentile: each figure is that of {blocks} blocks, which are the unit of its interval"
        )
    }
}

impl FindingKind for PooledBlocks {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        f64::from(self.blocks)
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Metric
    }
}
