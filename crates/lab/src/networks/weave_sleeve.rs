//! `weave-sleeve`: Weave Net in sleeve mode: a process on each node carries frames in UDP.

use super::weave::{SLEEVE, Weave};
use crate::lab::Lab;
use crate::weave::Mode;
use std::sync::Arc;

/// The network.
pub(super) fn network(lab: &Option<Arc<Lab>>) -> Weave {
    Weave {
        name: "weave-sleeve",
        summary: "one network over all nodes, frames carried in UDP by a process on each",
        stands_for: SLEEVE,
        mode: Mode::Sleeve,
        lab: lab.clone(),
    }
}
