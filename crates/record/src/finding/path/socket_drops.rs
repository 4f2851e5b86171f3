//! Datagrams dropped in the socket buffer of the receiver.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Datagrams arrived at a full socket buffer of the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SocketDrops {
    /// Datagrams dropped.
    pub dropped: u64,
    /// Datagrams sent.
    pub of: u64,
}

impl fmt::Display for SocketDrops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dropped, of } = self;
        write!(
            f,
            "{dropped} of {of} datagrams were lost in the receiver's full socket buffer, not in the network"
        )
    }
}

impl FindingKind for SocketDrops {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        part_of(self.dropped as f64, self.of as f64)
    }

    fn is_about_losses(&self) -> bool {
        true
    }
}
