//! `weave-sleeve`: Weave Net in sleeve mode, in which a process on each node carries frames in UDP.

use crate::networks::weave::weaver::WeaveMode;
use crate::networks::weave::{SLEEVE, WeaveNetwork};
use std::sync::Arc;
use tare_sandbox::Sandbox;

pub(crate) fn network(sandbox: &Option<Arc<Sandbox>>) -> WeaveNetwork {
    WeaveNetwork {
        name: "weave-sleeve",
        summary: "one network over all nodes, frames carried in UDP by a process on each",
        stands_for: SLEEVE,
        mode: WeaveMode::Sleeve,
        sandbox: sandbox.clone(),
    }
}
