//! One network's turn in a block, with its setup time and teardown time.

use crate::{Nanos, Phase, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
