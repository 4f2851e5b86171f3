//! `weave-fastdp`: Weave Net's fast data path, in which its router configures the kernel's Open vSwitch.

use crate::lab::Lab;
use crate::networks::weave::WeaveNetwork;
use crate::networks::weave::weaver::WeaveMode;
use std::sync::Arc;

pub(crate) fn network(lab: &Option<Arc<Lab>>) -> WeaveNetwork {
    WeaveNetwork {
        name: "weave-fastdp",
        summary: "one network over all nodes by the kernel's Open vSwitch and VXLAN, as weaver sets it up",
        stands_for: "Weave Net itself: a real weaver on each node",
        mode: WeaveMode::Fastdp,
        lab: lab.clone(),
    }
}
