//! Record of one trial.

use crate::{AgentsCpu, Finding, Hop, HostActivity, Nanos, RateSearch, Series, Shape, TrialSlices};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parameters of a workload by name: the requested ones before a trial, those in force after it.
pub type Parameters = BTreeMap<String, serde_json::Value>;

/// Returns a parameter's value as a user writes it: text without JSON's quotes.
#[must_use]
pub fn unquoted_value(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Phase of a run, which says why a trial was run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Pilot, to estimate the spread and the time of a block; never part of a result.
    Pilot,
    /// Main phase, which gives the results.
    Main,
}

/// Counts of both ends over the whole trial, to detect a disagreement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndCounts {
    /// Payload bytes that senders passed to the kernel.
    pub sent: u64,
    /// Payload bytes that receivers read from the kernel.
    pub received: u64,
    /// Transactions completed by clients.
    pub completed: u64,
    /// Requests answered by servers.
    pub answered: u64,
    /// Datagrams sent.
    #[serde(default)]
    pub datagrams_sent: u64,
    /// Datagrams received, with duplicates.
    #[serde(default)]
    pub datagrams_received: u64,
    /// Connections that clients established for one transaction each (netperf's CRR).
    #[serde(default)]
    pub connected: u64,
    /// Connections that servers accepted for them.
    #[serde(default)]
    pub accepted: u64,
}

/// Record of one run of a workload over a network in a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Number of the block, from 0, counted separately in the pilot and in the main phase.
    pub block: u32,
    /// Phase of the run.
    pub phase: Phase,
    /// Position of the network in the order of the block, from 0.
    pub position: u32,
    /// Label of the network in this run.
    pub label: String,
    /// Name of the network.
    pub network: String,
    /// Name of the workload.
    pub workload: String,
    /// Shape of the trial.
    pub shape: Shape,
    /// Parameters in force: sizes, congestion control, buffers, cores.
    pub parameters: Parameters,
    /// Start after the beginning of the run, ns.
    pub began: Nanos,
    /// Duration with connection setup, ns.
    pub took: Nanos,
    /// Slices of the trial, if it was woven with those of other networks: its times are then in slice time. `None` if
    /// it ran in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<TrialSlices>,
    /// Interval records by client.
    pub series: Vec<Series>,
    /// Counts of both ends.
    pub ends: EndCounts,
    /// CPU time of the threads that carried traffic.
    #[serde(default)]
    pub agents: AgentsCpu,
    /// Trials and results of the search, if the workload is a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<RateSearch>,
    /// Hops that a packet passes.
    pub hops: Vec<Hop>,
    /// Findings about the trial.
    pub findings: Vec<Finding>,
    /// Activity of the machine during the trial.
    pub meanwhile: HostActivity,
}

impl Trial {
    /// Releases the memory that lists have beyond their elements. A parser that learns their lengths at their ends makes
    /// room for up to twice as many.
    pub(crate) fn release_spare_memory(&mut self) {
        self.series.shrink_to_fit();
        self.series.iter_mut().for_each(|series| series.intervals.shrink_to_fit());
        self.hops.shrink_to_fit();
        self.findings.shrink_to_fit();
        let HostActivity { samples, counted, .. } = &mut self.meanwhile;
        samples.shrink_to_fit();
        samples.iter_mut().for_each(|sample| sample.cores.shrink_to_fit());
        counted.places.shrink_to_fit();
        counted.cores.shrink_to_fit();
    }
}
