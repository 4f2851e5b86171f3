//! Segments retransmitted by TCP.

use crate::PacketDrops;
use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use crate::packet_drops::PercentShare;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Share of segments from which on retransmissions explain a figure. A single loss at the beginning of each connection
/// is usual.
const LEAST_RETRANSMITTED: f64 = 0.005;

/// TCP retransmitted segments, over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetransmittedSegments {
    /// Segments retransmitted.
    pub segments: u64,
    /// Segments sent for the first time.
    pub of: u64,
    /// Packets dropped during the trials, the most frequent place first. One packet may have held many segments.
    pub drops: Vec<PacketDrops>,
}

impl fmt::Display for RetransmittedSegments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segments, of, drops } = self;
        let share = PercentShare(*segments as f64 / (*of).max(1) as f64);
        write!(f, "{segments} segments were retransmitted ({share} of all)")?;
        let mut words = "; dropped: ";
        for one in drops {
            write!(f, "{words}{} {one}", one.packets)?;
            words = ", ";
        }
        Ok(())
    }
}

impl FindingKind for RetransmittedSegments {
    fn weight(&self) -> FindingWeight {
        if self.severity() < LEAST_RETRANSMITTED {
            FindingWeight::Background
        } else {
            FindingWeight::Network
        }
    }

    fn severity(&self) -> f64 {
        part_of(self.segments as f64, self.of as f64)
    }

    fn subject(&self) -> String {
        self.drops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn is_about_losses(&self) -> bool {
        true
    }
}
