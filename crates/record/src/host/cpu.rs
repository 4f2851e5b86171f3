//! CPU time of the threads that carried traffic, and of the whole machine during a trial.

use crate::{HardwareCounters, MeasurementOverhead, Nanos, TrialCounters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Add;

/// CPU time of one side's threads that carried traffic, in one interval. Softirqs that run in their context are in
/// `system`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadCpu {
    /// Time in user space, ns.
    pub user: Nanos,
    /// Time in the kernel on behalf of the threads, ns.
    pub system: Nanos,
    /// Time for which the threads could have run and waited for a core, ns (the run delay of /proc/thread-self/schedstat).
    /// 0 where the kernel does not count it.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub waiting: Nanos,
}

/// CPU time of both sides' threads that carried traffic, interval by interval, as far as both recorded it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsCpu {
    /// CPU time of all clients.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ThreadCpu>,
    /// CPU time of all servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ThreadCpu>,
}

/// CPU time by kind, over all cores, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Programs (user and nice).
    pub user: Nanos,
    /// Kernel on behalf of programs.
    pub system: Nanos,
    /// Software interrupts.
    pub softirq: Nanos,
    /// Hardware interrupts.
    pub irq: Nanos,
    /// Time taken by the hypervisor.
    pub steal: Nanos,
    /// Idle time, and time waiting for I/O.
    pub idle: Nanos,
}

impl Add for CpuUse {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            softirq: self.softirq + other.softirq,
            irq: self.irq + other.irq,
            steal: self.steal + other.steal,
            idle: self.idle + other.idle,
        }
    }
}

/// CPU time of the machine up to one moment of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSample {
    /// Time of the sample after the trial's first payload, ns; 0 before it.
    pub at: Nanos,
    /// CPU time by core, since the first sample.
    pub cores: Vec<CpuUse>,
}

/// Activity of the machine during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostActivity {
    /// CPU time of the whole machine.
    pub cpu: CpuUse,
    /// CPU time of tare's own agents and of the networks' daemons (user and system, with softirqs that run in their
    /// context), ns.
    pub agents: Nanos,
    /// One-minute load average at the end.
    pub load: f64,
    /// CPU time by core, at a few moments of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<MachineSample>,
    /// Frequency of the cores under load, MHz, mean over busy time; `None` if cpufreq does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
    /// Hardware counters of the processor; `None` if they do not exist or are not permitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareCounters>,
    /// Memory left at the end, and time that tasks waited for memory.
    #[serde(default)]
    pub memory: HostMemory,
    /// Kernel counters by hop and by core.
    #[serde(default)]
    pub counted: TrialCounters,
    /// Measurement overhead.
    #[serde(default)]
    pub overhead: MeasurementOverhead,
}

/// Memory of the machine during a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostMemory {
    /// Memory available to programs at the end, bytes (`MemAvailable` of /proc/meminfo).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<u64>,
    /// Time during which some task waited for memory during the trial, ns (`some` of /proc/pressure/memory); `None` if
    /// the kernel does not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Nanos>,
}
