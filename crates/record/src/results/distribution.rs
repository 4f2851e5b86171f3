//! Latency distribution of one network under one workload in one shape, over all blocks.

use crate::{LatencyHistogram, LatencyKind, Shape};

/// Latencies of the steady parts of all trials of the main phase.
///
/// They are for display only: trials are not equal parts of the distribution, and it is not used in any test.
#[derive(Clone, Debug)]
pub struct LatencyDistribution {
    /// Label of the network.
    pub label: String,
    /// Workload, with the parameters that distinguish it from others of its name.
    pub workload: String,
    /// Shape of the trials.
    pub shape: Shape,
    /// Kind of latency.
    pub which: LatencyKind,
    /// Histogram of the latencies.
    pub latencies: LatencyHistogram,
}
