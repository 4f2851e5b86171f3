//! What it cost to look on while a trial ran.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tare's own looking on cost. What is asked of TCP stands with its answers (`TcpState`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// How often the cores were sampled while the trial ran, its set-up included.
    pub samples: u32,
    /// How long that took, all samples together, ns.
    pub sampling: Nanos,
    /// How long it took to read the counters of all namespaces, before and after what is measured, ns.
    pub counting: Nanos,
    /// The program that counts why the kernel drops packets; nothing where it is not there, or not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<Ran>,
}

/// How often a program in the kernel ran, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    /// How often.
    pub runs: u64,
    /// How long, all runs together, ns.
    pub time: Nanos,
}

impl Ran {
    /// What was run since an earlier reading.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { runs: self.runs.saturating_sub(before.runs), time: self.time - before.time }
    }
}
