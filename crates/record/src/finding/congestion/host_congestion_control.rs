//! Congestion control of the host beside that of the run.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The run used another congestion control than the host's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostCongestionControl {
    /// Control of the host.
    pub host: String,
    /// Control of the run.
    pub used: String,
}

impl fmt::Display for HostCongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, used } = self;
        write!(
            f,
            "this host's own congestion control is {host}; the networks were measured with {used}, which is the same on every path: --congestion system measures with {host}"
        )
    }
}

impl FindingKind for HostCongestionControl {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Method
    }
}
