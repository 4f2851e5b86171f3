//! `weave-fastdp`: Weave Net's fast data path: its router tells the kernel's Open vSwitch where to send frames.

use super::weave::Weave;
use crate::lab::Lab;
use crate::weave::Mode;
use std::sync::Arc;

/// The network.
pub(super) fn network(lab: &Option<Arc<Lab>>) -> Weave {
    Weave {
        name: "weave-fastdp",
        summary: "one network over all nodes by the kernel's Open vSwitch and VXLAN, as weaver sets it up",
        stands_for: "Weave Net itself: a real weaver on each node",
        mode: Mode::Fastdp,
        lab: lab.clone(),
    }
}
