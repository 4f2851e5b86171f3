//! `weave-fastdp`: Weave Net's fast data path, in which its router configures the kernel's Open vSwitch.

use crate::networks::weave::WeaveNetwork;
use crate::networks::weave::weaver::WeaveMode;
use std::sync::Arc;
use tare_sandbox::Sandbox;

pub(crate) fn network(sandbox: &Option<Arc<Sandbox>>) -> WeaveNetwork {
    WeaveNetwork {
        name: "weave-fastdp",
        summary: "one network over all nodes by the kernel's Open vSwitch and VXLAN, as weaver sets it up",
        stands_for: "Weave Net itself: a real weaver on each node",
        mode: WeaveMode::Fastdp,
        sandbox: sandbox.clone(),
    }
}
