//! Networks over which a workload's programs used one congestion control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Congestion control, with the networks over which it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworksUnderControl {
    /// Congestion control: that of the client and, where it differs, that of the server.
    pub control: String,
    /// Labels of the networks.
    pub networks: Vec<String>,
}

impl fmt::Display for NetworksUnderControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {}", self.control, self.networks.join(", "))
    }
}
