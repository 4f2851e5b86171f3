//! Emulation of the processor by software.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The processor was emulated by software, so that there are no verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatedProcessor {}

impl fmt::Display for EmulatedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the processor is emulated (TCG), so there are no verdicts: the figures show that networks work, not how fast they are",
            )
    }
}

impl FindingKind for EmulatedProcessor {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
