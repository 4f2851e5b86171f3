//! Segmentation of large packets before a device.

use crate::Metric;
use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Large packets, which offloads keep whole, were segmented before this device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OffloadLoss {
    /// Namespace of the device.
    pub place: String,
    /// Name of the device.
    pub device: String,
    /// Mean packet size on the device before it, bytes.
    pub before: f64,
    /// Mean packet size on this device, bytes.
    pub after: f64,
}

impl fmt::Display for OffloadLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, device, before, after } = self;
        write!(
            f,
            "offload lost at {place}:{device}: the mean packet size falls from {before:.0} to {after:.0} bytes"
        )
    }
}

impl FindingKind for OffloadLoss {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        part_of(self.before, self.after)
    }

    fn subject(&self) -> String {
        format!("{}:{}", self.place, self.device)
    }

    fn cost_reason(&self, _metric: Metric) -> Option<String> {
        Some(format!("large packets are cut before {}:{}", self.place, self.device))
    }
}
