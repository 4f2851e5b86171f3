//! CPU time of the threads that carried traffic, and of the whole machine during a trial.

use crate::{HardwareCounters, MeasurementOverhead, Nanos, TrialCounters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

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

/// CPU time by kind, over all cores, as the kernel counts it, ns. See [`CpuUse::by_clock`].
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

impl Sub for CpuUse {
    type Output = Self;

    /// Returns the difference of each kind; a kind that did not grow has none.
    fn sub(self, other: Self) -> Self {
        Self {
            user: self.user - other.user,
            system: self.system - other.system,
            softirq: self.softirq - other.softirq,
            irq: self.irq - other.irq,
            steal: self.steal - other.steal,
            idle: self.idle - other.idle,
        }
    }
}

impl CpuUse {
    /// Returns the time without idle and stolen time.
    #[must_use]
    pub fn busy(&self) -> Nanos {
        self.user + self.system + self.softirq + self.irq
    }

    /// Returns this share of each kind.
    #[must_use]
    pub fn scaled(&self, share: f64) -> Self {
        Self {
            user: self.user.scaled(share),
            system: self.system.scaled(share),
            softirq: self.softirq.scaled(share),
            irq: self.irq.scaled(share),
            steal: self.steal.scaled(share),
            idle: self.idle.scaled(share),
        }
    }

    /// Returns the time by the clock. `passed` is the time that passed on all counted cores together, ns. The cores were busy
    /// when they were neither idle nor stolen, and the busy kinds share that time as their ticks do; without a tick it
    /// is the kernel's (`system`), which most of what is measured is.
    ///
    /// The kernel counts busy kinds by ticks, and idle time by the clock unless its tick never stops (fs/proc/stat.c,
    /// `get_idle_time`). Work that ends before its tick is served counts as nothing by ticks: of the time of round
    /// trips on a virtual machine, a third.
    #[must_use]
    pub fn by_clock(&self, passed: Nanos) -> Self {
        let ticks = self.busy();
        if ticks + self.idle == Nanos(0) {
            // Nothing is known of a core without any count.
            return *self;
        }
        let available = passed - self.steal;
        let idle = self.idle.min(available);
        let busy = available - idle;
        if ticks == Nanos(0) {
            return Self { system: busy, steal: self.steal, idle, ..Self::default() };
        }
        let scale = busy.0 as f64 / ticks.0 as f64;
        Self { steal: self.steal, idle, ..self.scaled(scale) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(count: u64) -> Nanos {
        Nanos(count * 1_000_000)
    }

    #[test]
    fn cores_are_busy_when_they_are_not_idle() {
        let counted = CpuUse {
            user: ms(100),
            system: ms(300),
            softirq: ms(200),
            steal: ms(50),
            idle: ms(1_050),
            ..CpuUse::default()
        };
        let exact = counted.by_clock(ms(2_000));
        let expected = CpuUse { user: ms(150), system: ms(450), softirq: ms(300), ..counted };
        assert_eq!(exact, expected);
    }

    #[test]
    fn time_without_a_tick_is_the_kernel_s() {
        let counted = CpuUse { idle: ms(60), ..CpuUse::default() };
        assert_eq!(counted.by_clock(ms(100)), CpuUse { system: ms(40), ..counted });
        assert_eq!(CpuUse::default().by_clock(ms(100)), CpuUse::default(), "nothing was counted");
    }

    proptest! {
        #[test]
        fn kinds_fill_the_time_that_passed(
            kinds in prop::array::uniform6(0u64..10_000),
            passed in 0u64..20_000,
        ) {
            let [user, system, softirq, irq, steal, idle] = kinds.map(ms);
            let counted = CpuUse { user, system, softirq, irq, steal, idle };
            let exact = counted.by_clock(ms(passed));
            if counted.busy() + idle > Nanos(0) {
                let all = exact.busy() + exact.idle;
                let available = ms(passed) - steal;
                prop_assert!(all.0.abs_diff(available.0) <= 4, "{exact:?} of {available:?}");
            }
        }
    }
}
