//! Sender behind its requested rate.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sender could not keep up with the requested rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowSender {
    /// Datagrams or transactions per second requested.
    pub asked: f64,
    /// Datagrams or transactions per second offered.
    pub offered: f64,
}

impl fmt::Display for SlowSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, offered } = self;
        write!(
            f,
            "the sender could not keep up with the requested rate: {offered:.0}/s offered of {asked:.0}/s requested"
        )
    }
}

impl FindingKind for SlowSender {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        1.0 - part_of(self.offered, self.asked)
    }
}
