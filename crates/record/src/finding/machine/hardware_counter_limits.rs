//! Limits of what hardware counters counted.

use crate::CounterScope;
use crate::finding::kind::{FindingKind, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Hardware counters did not count all execution, or not all the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareCounterLimits {
    /// Scope of the counters.
    pub counted: CounterScope,
    /// Smallest share of the time during which any of them was active, 0–1.
    pub running: f64,
}

impl fmt::Display for HardwareCounterLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counted, running } = self;
        match counted {
            CounterScope::Machine => f.write_str("hardware counters counted all cores")?,
            CounterScope::Agents => f.write_str(
                "hardware counters counted only tare's agents and the kernel's work for them: run as root to count all cores",
            )?,
            CounterScope::AgentsCode => f.write_str(
                "hardware counters counted only the code of tare's agents, without the kernel: run as root to count all cores",
            )?,
        }
        if *running < 1.0 {
            write!(
                f,
                "; the counters were active for {:.0} % of the time, the rest is extrapolated",
                running * 100.0
            )?;
        }
        Ok(())
    }
}

impl FindingKind for HardwareCounterLimits {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Background
    }

    fn severity(&self) -> f64 {
        1.0 - self.running
    }
}
