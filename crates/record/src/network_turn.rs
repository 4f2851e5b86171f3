//! One network's turn in a block, with its setup time, its teardown time, and figures of the network itself.

use crate::{Metric, Nanos, Phase, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name in the place of a workload, for the figures of networks themselves.
pub const NETWORK_WORKLOAD: &str = "network";

/// Turn of a network in a block: the network is set up, its trials are run, and it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkTurn {
    /// Number of the block, in the numbering of the trials' blocks.
    pub block: u32,
    /// Phase of the run.
    pub phase: Phase,
    /// Label of the network in this run.
    pub label: String,
    /// Shape that the network was set up for.
    pub shape: Shape,
    /// Setup time, ns: from an empty state until every client has reached its server.
    pub raised: Nanos,
    /// Teardown time, ns: until everything that belongs to the network is released and its programs have ended. The
    /// kernel frees devices and namespaces after that, in the background.
    pub removed: Nanos,
    /// Figures of the network itself that the run asks for.
    #[serde(flatten)]
    pub inspection: NetworkInspection,
}

/// Figures of a network that are taken from the kernel after its trials. A figure is absent if the run does not ask for
/// it, if the network has none, or if the kernel did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkInspection {
    /// Number of clients that have a route to an address outside of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes_out: Option<u32>,
    /// Number of ports of the containers' bridge when the kernel refused one more, or the largest number that is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge_ports: Option<u32>,
    /// Errors in the place of figures that the kernel did not answer for, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unread: BTreeMap<Metric, String>,
}

impl NetworkInspection {
    /// Notes the error in the place of the figure of a metric.
    pub fn note_unread(&mut self, metric: Metric, error: impl std::fmt::Display) {
        self.unread.insert(metric, error.to_string());
    }
}
