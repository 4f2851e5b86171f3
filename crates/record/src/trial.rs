//! What happened in one trial.

use crate::{AgentsCpu, Finding, Hop, Meanwhile, Nanos, Search, Series, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A workload's parameters: what was asked before a trial, what was really in force after it.
pub type Parameters = BTreeMap<String, serde_json::Value>;

/// A parameter's value as a user writes it: without the quotes that JSON puts around text.
#[must_use]
pub fn bare(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Why a trial was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// To learn the spread and the time a block takes; never part of a result.
    Pilot,
    /// To answer the question.
    Main,
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
    /// Datagrams sent.
    #[serde(default)]
    pub datagrams_sent: u64,
    /// Datagrams received, duplicates too.
    #[serde(default)]
    pub datagrams_received: u64,
    /// Connections that clients made for transactions of their own (netperf's CRR).
    #[serde(default)]
    pub connected: u64,
    /// Connections that servers accepted for them.
    #[serde(default)]
    pub accepted: u64,
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
    /// CPU time of the threads that carried traffic.
    #[serde(default)]
    pub agents: AgentsCpu,
    /// The rates tried and what was found, where the workload is a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What a packet passed.
    pub hops: Vec<Hop>,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// What the machine did meanwhile.
    pub meanwhile: Meanwhile,
}
