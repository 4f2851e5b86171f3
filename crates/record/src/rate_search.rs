//! Search for the highest rate at given loss ratios (RFC 9971, MLRsearch): its trials and its results.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Trial of a rate in a search (RFC 9971: a trial).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchTrial {
    /// Start after the beginning of the search, ns.
    pub began: Nanos,
    /// Time during which datagrams were sent, ns.
    pub length: Nanos,
    /// Rate requested, datagrams per second.
    pub asked: f64,
    /// Rate offered, datagrams per second.
    pub offered: f64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams of these that arrived in time, each counted once, without those still queued on their way when the
    /// sender ended.
    pub received: u64,
    /// Datagrams of those received that were still queued on their way when the sender ended, in a queue that grew too
    /// slowly to tell it from a pause of a scheduler.
    #[serde(default)]
    pub late: u64,
}

/// Result of a search for one loss ratio (RFC 9971: a goal).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalResult {
    /// Loss ratio that is allowed, 0–1.
    pub loss: f64,
    /// Highest rate that was seen to keep the loss ratio, datagrams per second (the relevant lower bound); 0 if there
    /// was none.
    pub lower: f64,
    /// Lowest rate that was seen to exceed the loss ratio, datagrams per second; `None` if the sender could not send
    /// that fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Conditional throughput of the lower bound, datagrams per second (RFC 9971, section 4).
    pub conditional: f64,
    /// True if the two bounds are as close as requested, or if no rate that can be sent keeps the loss ratio.
    pub converged: bool,
}

/// Search for the highest rate at given loss ratios.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSearch {
    /// Payload bytes of a datagram.
    pub size: u64,
    /// Trials of rates, in order.
    pub probes: Vec<SearchTrial>,
    /// Results by loss ratio: no loss first, then the chosen ratios.
    pub found: Vec<GoalResult>,
}
