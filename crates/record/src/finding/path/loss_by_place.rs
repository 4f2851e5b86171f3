//! Lost datagrams by place.

use crate::finding::kind::{FindingKind, FindingWeight, part_of};
use crate::packet_drops::{PercentShare, write_drops};
use crate::{Metric, PacketDrops};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Places at which datagrams were lost, over all trials. The parts and the rest add up to the total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossByPlace {
    /// Datagrams lost.
    pub lost: u64,
    /// Datagrams sent.
    pub of: u64,
    /// Losses by place, the largest first.
    pub parts: Vec<PacketDrops>,
    /// Losses that no counter shows; below 0 if hops dropped more than was lost, which are then packets of other
    /// traffic.
    pub unplaced: i64,
}

impl fmt::Display for LossByPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lost, of, parts, unplaced } = self;
        write!(f, "{} lost: ", PercentShare(*lost as f64 / (*of).max(1) as f64))?;
        write_drops(f, parts, *of, *unplaced)
    }
}

impl FindingKind for LossByPlace {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn severity(&self) -> f64 {
        part_of(self.lost as f64, self.of as f64)
    }

    fn subject(&self) -> String {
        self.to_string()
    }

    fn is_about_losses(&self) -> bool {
        true
    }

    fn cost_reason(&self, metric: Metric) -> Option<String> {
        if metric != Metric::Loss {
            return None;
        }
        let most = self.parts.first().filter(|part| part.packets * 2 > self.lost)?;
        Some(format!("most were dropped {most}"))
    }
}
