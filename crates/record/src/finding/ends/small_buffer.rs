//! Socket buffer smaller than requested.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The socket buffers are smaller than requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SmallBuffer {
    /// Bytes requested.
    pub asked: u64,
    /// Bytes granted by the kernel.
    pub granted: u64,
}

impl fmt::Display for SmallBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, granted } = self;
        write!(
            f,
            "the kernel granted a socket buffer of {granted} bytes instead of {asked}: raise the sysctls net.core.rmem_max and net.core.wmem_max"
        )
    }
}

impl FindingKind for SmallBuffer {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        -part_of(self.granted as f64, self.asked as f64)
    }

    fn subject(&self) -> String {
        self.asked.to_string()
    }
}
