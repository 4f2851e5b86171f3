//! Overflow of the table of connections in TIME_WAIT.

use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kernel's table of connections in TIME_WAIT overflowed (`net.ipv4.tcp_max_tw_buckets`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWaitOverflow {
    /// Connections that did not fit into the table.
    pub overflowed: u64,
}

impl fmt::Display for TimeWaitOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { overflowed } = self;
        write!(
            f,
            "{overflowed} connections did not fit into the kernel's table of connections in TIME_WAIT: raise the sysctl net.ipv4.tcp_max_tw_buckets, or use --close rst"
        )
    }
}

impl FindingKind for TimeWaitOverflow {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.overflowed as f64
    }
}
