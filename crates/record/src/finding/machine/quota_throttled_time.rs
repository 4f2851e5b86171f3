//! Throttling by the CPU quota of a control group.

use crate::Nanos;
use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The CPU quota of a cgroup throttled the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaThrottledTime {
    /// Throttled time, over all cores, ns.
    pub waited: Nanos,
}

impl fmt::Display for QuotaThrottledTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waited } = self;
        write!(
            f,
            "the CPU quota of a control group throttled the run for {:.2} s: raise cpu.max, or run tare outside of that group",
            waited.as_secs_f64()
        )
    }
}

impl FindingKind for QuotaThrottledTime {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.waited.as_secs_f64()
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
