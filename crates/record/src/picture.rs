//! What a run looks like beneath its figures: whole distributions, the course of every trial, where CPU time went.
//!
//! It is for looking at: trials are not equal parts of it, and nothing is tested on it.

use crate::{Distribution, Metric, Nanos, Shape};

/// Everything of a run that is looked at beside its figures.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// All latencies of each network, by workload and shape.
    pub distributions: Vec<Distribution>,
    /// How every trial went.
    pub courses: Vec<Course>,
    /// Where each network's CPU time went, by workload and shape.
    pub costs: Vec<CpuCost>,
}

/// One trial's rate, interval by interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The network's label.
    pub label: String,
    /// The workload, with the parameters that tell it from others of its name.
    pub workload: String,
    /// How many of what.
    pub shape: Shape,
    /// The trial's block.
    pub block: u32,
    /// What the rates are of: throughput, transactions or connections.
    pub metric: Metric,
    /// Where each interval begins, after the trial's first payload, and its rate in the metric's unit.
    pub points: Vec<(Nanos, f64)>,
    /// Intervals that were cut off as the warm-up.
    pub cut: usize,
    /// Whether the trial reached a steady state, as far as was looked.
    pub settled: bool,
}

/// What CPU time is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// 10⁹ bytes of payload.
    Gigabyte,
    /// A transaction or a connection.
    Operation,
}

/// CPU time of the whole machine for a piece of work, s, over the steady parts of trials, mean over blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuCost {
    /// The network's label.
    pub label: String,
    /// The workload, with the parameters that tell it from others of its name.
    pub workload: String,
    /// How many of what.
    pub shape: Shape,
    /// The piece of work.
    pub work: Work,
    /// In programs, s.
    pub user: f64,
    /// In the kernel on behalf of programs, s.
    pub system: f64,
    /// In software interrupts, s.
    pub softirq: f64,
    /// In hardware interrupts, s.
    pub irq: f64,
    /// Of all that, in the clients' threads that carried traffic, s; nothing where a trial did not keep it.
    pub clients: Option<f64>,
    /// The same of the servers' threads.
    pub servers: Option<f64>,
    /// How many blocks.
    pub blocks: u32,
}

impl CpuCost {
    /// All kinds together, s.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system + self.softirq + self.irq
    }
}
