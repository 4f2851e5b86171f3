//! CPU time: of the threads that carried traffic, and of the whole machine meanwhile.

use crate::{Counted, Hardware, Nanos, Overhead};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time of a side's threads that carried traffic, in one interval. Softirq run in their context is in `system`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadCpu {
    /// In the program, ns.
    pub user: Nanos,
    /// In the kernel on its behalf, ns.
    pub system: Nanos,
}

/// CPU time of both sides' threads that carried traffic, interval by interval, as far as both kept it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsCpu {
    /// All clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ThreadCpu>,
    /// All servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ThreadCpu>,
}

/// CPU time by kind, over all cores, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Programs (user and nice).
    pub user: Nanos,
    /// The kernel on behalf of programs.
    pub system: Nanos,
    /// Software interrupts.
    pub softirq: Nanos,
    /// Hardware interrupts.
    pub irq: Nanos,
    /// Stolen by the hypervisor.
    pub steal: Nanos,
    /// Nothing to do (idle and waiting for I/O).
    pub idle: Nanos,
}

/// The machine's CPU time up to one moment of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSample {
    /// When, after the trial's first payload, ns; before it, 0.
    pub at: Nanos,
    /// By core, since the first sample.
    pub cores: Vec<CpuUse>,
}

/// What the machine did while a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meanwhile {
    /// CPU time of the whole machine.
    pub cpu: CpuUse,
    /// CPU time of tare's own agents and of the networks' own daemons (user and system, softirq run in their context
    /// included), ns.
    pub agents: Nanos,
    /// The one-minute load average at the end.
    pub load: f64,
    /// CPU time core by core, at a few moments of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<MachineSample>,
    /// How fast the cores ran while they had work, MHz, mean over busy time; nothing where cpufreq does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
    /// What the processor's own counters said; nothing where they are not there or not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Hardware>,
    /// What memory was left, and how long work waited for it.
    #[serde(default)]
    pub memory: Memory,
    /// What was counted hop by hop and core by core.
    #[serde(default)]
    pub counted: Counted,
    /// What it cost to look on.
    #[serde(default)]
    pub overhead: Overhead,
}

/// The machine's memory while a trial ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// What programs could still have had at the end, bytes (`MemAvailable` of /proc/meminfo).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<u64>,
    /// How long some task waited for memory meanwhile, ns (`some` of /proc/pressure/memory); nothing where the kernel
    /// does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Nanos>,
}
