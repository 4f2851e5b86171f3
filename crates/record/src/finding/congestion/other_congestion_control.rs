//! Congestion control other than the requested one.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The requested congestion control is not available; another one was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherCongestionControl {
    /// Congestion control requested.
    pub asked: String,
    /// Congestion control in force.
    pub used: String,
}

impl fmt::Display for OtherCongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, used } = self;
        write!(
            f,
            "congestion control {used} instead of {asked}, which is not allowed or not the default there: see the sysctl net.ipv4.tcp_allowed_congestion_control"
        )
    }
}

impl FindingKind for OtherCongestionControl {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn subject(&self) -> String {
        format!("{} {}", self.asked, self.used)
    }
}
