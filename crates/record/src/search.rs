//! A search for the highest rate at given loss ratios (RFC 9971, MLRsearch): what was tried, and what was found.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rate tried in a search (RFC 9971: a trial).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// When it began, after the search's beginning, ns.
    pub began: Nanos,
    /// How long datagrams were sent, ns.
    pub length: Nanos,
    /// The rate asked for, datagrams per second.
    pub asked: f64,
    /// The rate really offered, datagrams per second.
    pub offered: f64,
    /// Datagrams sent.
    pub sent: u64,
    /// Those of them that came in time, each once: not those that were still queued on their way when the sender ended.
    pub received: u64,
}

/// What a search found for one loss ratio (RFC 9971: a goal).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The loss ratio that is allowed, 0–1.
    pub loss: f64,
    /// The highest rate that was seen to keep it, datagrams per second (the relevant lower bound); 0 where none was.
    pub lower: f64,
    /// The lowest rate that was seen not to keep it; nothing where the sender could not send that fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// The conditional throughput of the lower bound, datagrams per second (RFC 9971, section 4).
    pub conditional: f64,
    /// Whether the two are as close as was asked, or nothing keeps it that can be sent.
    pub converged: bool,
}

/// A search for the highest rate at given loss ratios.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// Payload bytes of a datagram.
    pub size: u64,
    /// Every rate that was tried, in order.
    pub probes: Vec<Probe>,
    /// What was found: no loss first, then the chosen ratios.
    pub found: Vec<Bounds>,
}
