//! One network's turn in a block: how long it took to bring it up and to take it down.

use crate::{Nanos, Phase, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network was raised, its trials were run, and it was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The block it belongs to, counted as those of trials are.
    pub block: u32,
    /// Why it was run.
    pub phase: Phase,
    /// The network's label in this run.
    pub label: String,
    /// How many of what.
    pub shape: Shape,
    /// From nothing until every client has reached its server, ns.
    pub raised: Nanos,
    /// Until everything of it was let go, programs ended, ns. The kernel frees devices and namespaces after that, in
    /// the background.
    pub removed: Nanos,
}
