//! What happened in one trial.

use crate::{Finding, Hop, LatencyHistogram, Nanos, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A workload's parameters: what was asked before a trial, what was really in force after it.
pub type Parameters = BTreeMap<String, serde_json::Value>;

/// Why a trial was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// To learn the spread and the time a block takes; never part of a result.
    Pilot,
    /// To answer the question.
    Main,
}

/// A short stretch of a trial, as the side that counts saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its start after the trial's first payload, ns.
    pub start: Nanos,
    /// Its length, ns: really elapsed, not the one asked for.
    pub length: Nanos,
    /// Payload bytes received in it.
    #[serde(default)]
    pub bytes: u64,
    /// Transactions completed in it.
    #[serde(default)]
    pub operations: u64,
    /// The latencies of those transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyHistogram>,
}

/// All intervals of one client, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Which client, from 0.
    pub client: u32,
    /// Its intervals.
    pub intervals: Vec<Interval>,
}

/// What each end counted over the whole trial, so that a disagreement is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ends {
    /// Payload bytes that senders handed to the kernel.
    pub sent: u64,
    /// Payload bytes that receivers took from the kernel.
    pub received: u64,
    /// Transactions that clients completed.
    pub completed: u64,
    /// Requests that servers answered.
    pub answered: u64,
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

/// What the machine did while a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meanwhile {
    /// CPU time of the whole machine.
    pub cpu: CpuUse,
    /// CPU time of tare's own agents (user and system, softirq run in their context included), ns.
    pub agents: Nanos,
    /// The one-minute load average at the end.
    pub load: f64,
}

/// One run of one workload over one network in one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The block it belongs to, from 0, counted apart in the pilot and in the main phase.
    pub block: u32,
    /// Why it was run.
    pub phase: Phase,
    /// The place of its network in the block's order, from 0.
    pub position: u32,
    /// The network's label in this run.
    pub label: String,
    /// The network's name.
    pub network: String,
    /// The workload's name.
    pub workload: String,
    /// How many of what.
    pub shape: Shape,
    /// What was really in force: sizes, congestion control, buffers, cores.
    pub parameters: Parameters,
    /// When it began, after the run's beginning, ns.
    pub began: Nanos,
    /// How long it took with its connection set-up, ns.
    pub took: Nanos,
    /// The figures.
    pub series: Vec<Series>,
    /// What each end counted.
    pub ends: Ends,
    /// What a packet passed.
    pub hops: Vec<Hop>,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// What the machine did meanwhile.
    pub meanwhile: Meanwhile,
}
