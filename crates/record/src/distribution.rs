//! All latencies of one network under one workload in one shape, over all blocks.

use crate::{Latency, LatencyHistogram, Shape};

/// Latencies over the steady parts of all trials of the main phase.
///
/// They are for looking at: trials are not equal parts of it, and nothing is tested on it.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The network's label.
    pub label: String,
    /// The workload, with the parameters that tell it from others of its name.
    pub workload: String,
    /// How many of what.
    pub shape: Shape,
    /// From where to where.
    pub which: Latency,
    /// They.
    pub latencies: LatencyHistogram,
}
