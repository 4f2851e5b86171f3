//! Limits that a listener sets for its clients: duration, rate, clients, flows and memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tare_record::Nanos;

/// Limits that a listener sets for its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Longest time for which a trial may generate traffic, ns.
    pub duration: Nanos,
    /// Payload that all trials together may offer in one direction, bits/s. Null: unlimited.
    pub rate: Option<u64>,
    /// Number of clients at the same time.
    pub clients: u32,
    /// Number of flows of all clients at the same time.
    pub flows: u32,
    /// Memory that the trials of all clients may request at the same time, bytes: messages, socket buffers, interval
    /// records.
    pub memory: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(3600).into(),
            rate: None,
            clients: 16,
            flows: 1024,
            memory: 1 << 30,
        }
    }
}
