//! `weave-sleeve-encrypted`: Weave Net in sleeve mode with a password, so that the processes encrypt the frames (NaCl).

use crate::networks::weave::weaver::WeaveMode;
use crate::networks::weave::{SLEEVE, WeaveNetwork};
use std::sync::Arc;
use tare_sandbox::Sandbox;

pub(crate) fn network(sandbox: &Option<Arc<Sandbox>>) -> WeaveNetwork {
    WeaveNetwork {
        name: "weave-sleeve-encrypted",
        summary: "one network over all nodes, frames sealed (NaCl) and carried in UDP by a process on each",
        stands_for: SLEEVE,
        mode: WeaveMode::SleeveEncrypted,
        sandbox: sandbox.clone(),
    }
}
