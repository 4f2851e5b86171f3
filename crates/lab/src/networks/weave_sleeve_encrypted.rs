//! `weave-sleeve-encrypted`: Weave Net in sleeve mode with a password: what the processes carry is sealed (NaCl).

use super::weave::{SLEEVE, Weave};
use crate::lab::Lab;
use crate::weave::Mode;
use std::sync::Arc;

/// The network.
pub(super) fn network(lab: &Option<Arc<Lab>>) -> Weave {
    Weave {
        name: "weave-sleeve-encrypted",
        summary: "one network over all nodes, frames sealed (NaCl) and carried in UDP by a process on each",
        stands_for: SLEEVE,
        mode: Mode::SleeveEncrypted,
        lab: lab.clone(),
    }
}
