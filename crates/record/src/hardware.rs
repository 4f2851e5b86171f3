//! What the processor itself counted while a trial ran: cycles, and instructions carried out.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hardware counters over a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hardware {
    /// Whose work was counted.
    pub counted: Counting,
    /// The least share of the time for which any counter really counted, 0–1: where others use the processor's few counters
    /// too, the kernel lets them take turns, and what is kept is extrapolated.
    pub running: f64,
    /// Up to a few moments of the trial.
    pub samples: Vec<HardwareSample>,
}

/// Whose work hardware counters count.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Everything that ran on any core, in the kernel and in programs.
    Machine,
    /// tare's agents: their own code, and what the kernel did in their context.
    Agents,
    /// The agents' own code alone, nothing of the kernel.
    AgentsCode,
}

/// What was counted up to one moment of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareSample {
    /// When, after the trial's first payload, ns; before it, 0.
    pub at: Nanos,
    /// Since the first sample: by core for the machine, else all agents together.
    pub executed: Vec<Executed>,
}

/// Work as the processor counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Executed {
    /// Cycles that were not idle.
    pub cycles: u64,
    /// Instructions carried out.
    pub instructions: u64,
}
