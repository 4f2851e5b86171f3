//! CPU time of the measurement itself.

use crate::finding::kind::{FindingKind, FindingWeight};
use crate::packet_drops::PercentShare;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Least CPU cost of the measurement itself that is reported, cores.
const LEAST_REPORTED_CORES: f64 = 0.02;

/// Measurement overhead while traffic ran, in cores (seconds per second), means over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTimeOfMeasurement {
    /// Sampling of the cores' time and of their hardware counters.
    pub sampling: f64,
    /// Reading `TCP_INFO` of the connections.
    pub tcp_info: f64,
    /// The kernel program that runs at every packet drop, to count drop reasons.
    pub drops: f64,
    /// Runs of that program, over all trials.
    pub runs: u64,
}

impl fmt::Display for CpuTimeOfMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sampling, tcp_info, drops, runs } = self;
        let all = PercentShare(sampling + tcp_info + drops);
        write!(f, "measurement overhead: {all} of a core: sampling {}", PercentShare(*sampling))?;
        if *tcp_info > 0.0 {
            write!(f, ", TCP_INFO {}", PercentShare(*tcp_info))?;
        }
        if *runs > 0 {
            write!(f, ", counting {runs} drops {}", PercentShare(*drops))?;
        }
        Ok(())
    }
}

impl FindingKind for CpuTimeOfMeasurement {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        self.sampling + self.tcp_info + self.drops
    }

    fn has_note(&self) -> bool {
        self.severity() >= LEAST_REPORTED_CORES
    }
}
