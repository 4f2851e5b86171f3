//! Data for charts of a run: latency distributions, the timeline of every trial, and CPU time by consumer.
//!
//! It is for display only: trials are not equal parts of it, and it is not used in any test.

use crate::{LatencyDistribution, Metric, Nanos, Shape};

/// Data for all charts of a run.
#[derive(Clone, Debug, Default)]
pub struct ChartData {
    /// Latency distributions of each network, by workload and shape.
    pub distributions: Vec<LatencyDistribution>,
    /// Timelines of all trials.
    pub courses: Vec<TrialTimeline>,
    /// CPU time of each network by consumer, by workload and shape.
    pub costs: Vec<CpuCost>,
}

/// Rate of one trial, interval by interval.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialTimeline {
    /// Label of the network.
    pub label: String,
    /// Workload, with the parameters that distinguish it from others of its name.
    pub workload: String,
    /// Shape of the trial.
    pub shape: Shape,
    /// Block of the trial.
    pub block: u32,
    /// Metric of the rates: throughput, transactions or connections.
    pub metric: Metric,
    /// Start of each interval after the trial's first payload, and its rate in the metric's unit.
    pub points: Vec<(Nanos, f64)>,
    /// Number of intervals removed as the warm-up.
    pub cut: usize,
    /// True if the trial reached a steady state, as far as it was examined.
    pub settled: bool,
}

/// Unit of work that CPU time is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkUnit {
    /// 10⁹ bytes of payload.
    Gigabyte,
    /// One transaction or connection.
    Operation,
}

/// CPU time of the whole machine per unit of work, s, over the steady parts of trials, mean over blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuCost {
    /// Label of the network.
    pub label: String,
    /// Workload, with the parameters that distinguish it from others of its name.
    pub workload: String,
    /// Shape of the trials.
    pub shape: Shape,
    /// Unit of work.
    pub work: WorkUnit,
    /// Time in user space, s.
    pub user: f64,
    /// Time in the kernel on behalf of programs, s.
    pub system: f64,
    /// Time in software interrupts, s.
    pub softirq: f64,
    /// Time in hardware interrupts, s.
    pub irq: f64,
    /// Part of that time in the clients' threads that carried traffic, s; `None` if a trial did not record it.
    pub clients: Option<f64>,
    /// Part of that time in the servers' threads that carried traffic, s; `None` if a trial did not record it.
    pub servers: Option<f64>,
    /// Number of blocks.
    pub blocks: u32,
}

impl CpuCost {
    /// Returns the sum of all kinds, s.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system + self.softirq + self.irq
    }
}
