//! Default congestion control other than the requested one.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The requested congestion control cannot be made the default of the network namespaces: programs that choose none
/// used another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherDefaultCongestion {
    /// Congestion control requested.
    pub asked: String,
    /// Default of the namespaces.
    pub used: String,
}

impl fmt::Display for OtherDefaultCongestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, used } = self;
        write!(
            f,
            "programs that choose no congestion control use {used} instead of {asked}, which cannot be made the default of their network namespace: see the sysctl net.ipv4.tcp_allowed_congestion_control"
        )
    }
}

impl FindingKind for OtherDefaultCongestion {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }
}
