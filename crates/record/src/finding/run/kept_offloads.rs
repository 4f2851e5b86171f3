//! Offloads that a device does not allow to change.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Offloads that the run switches off, but the device does not allow to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptOffloads {
    /// Devices, each with the offloads that stayed enabled: `node-0:lo checksum`.
    pub devices: Vec<String>,
}

impl fmt::Display for KeptOffloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { devices } = self;
        write!(f, "offloads that cannot be disabled stayed enabled: {}", devices.join("; "))
    }
}

impl FindingKind for KeptOffloads {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn subject(&self) -> String {
        self.devices.join("; ")
    }
}
