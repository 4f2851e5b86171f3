//! Connections without a free local port.

use crate::counted;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Connections could not be established because no local port was free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortExhaustion {
    /// Number of failed attempts.
    pub times: u64,
}

impl fmt::Display for PortExhaustion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { times } = self;
        write!(
            f,
            "no local port was free for {}: widen the sysctl net.ipv4.ip_local_port_range, or use --close rst",
            counted(*times, "connection", "connections")
        )
    }
}

impl FindingKind for PortExhaustion {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.times as f64
    }
}
