//! Hardware counters of the processor over a trial: cycles and instructions.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hardware counters over one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareCounters {
    /// Scope of the counters: the machine, or tare's agents.
    pub counted: CounterScope,
    /// Smallest share of the time during which any counter was active, 0–1. The kernel multiplexes the processor's few
    /// counters if others use them too; counts are then extrapolated.
    pub running: f64,
    /// Readings at up to a few moments of the trial.
    pub samples: Vec<HardwareSample>,
}

/// Scope of the hardware counters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CounterScope {
    /// Everything that ran on any core, in the kernel and in programs.
    Machine,
    /// tare's agents: their own code, and the kernel's work in their context.
    Agents,
    /// The agents' own code only, without the kernel.
    AgentsCode,
}

/// Counters up to one moment of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareSample {
    /// Time of the reading after the trial's first payload, ns; 0 before it.
    pub at: Nanos,
    /// Counts since the first sample: by core for the machine, otherwise one entry for all agents.
    pub executed: Vec<HardwareEventCounts>,
}

/// Cycles and instructions, as the processor counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareEventCounts {
    /// Cycles that were not idle.
    pub cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
}
