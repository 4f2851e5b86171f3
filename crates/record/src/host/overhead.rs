//! Measurement overhead of a trial.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cost of tare's own measurements. The cost of reading `TCP_INFO` is recorded with its values
/// (`asking` of an interval's `tcp`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementOverhead {
    /// Number of times that the cores were sampled while the trial ran, its setup included.
    pub samples: u32,
    /// Time of all samples together, ns.
    pub sampling: Nanos,
    /// Time to read the counters of all namespaces, before and after the measured time, ns.
    pub counting: Nanos,
    /// Kernel program that counts drop reasons; `None` if it is not loaded or not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<KernelProgramRuns>,
}

/// Runs of a program in the kernel, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelProgramRuns {
    /// Number of runs.
    pub runs: u64,
    /// Time of all runs together, ns.
    pub time: Nanos,
}

impl KernelProgramRuns {
    /// Returns the runs and the time since an earlier reading.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { runs: self.runs.saturating_sub(before.runs), time: self.time - before.time }
    }
}
