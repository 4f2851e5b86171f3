//! Comparison of two networks of a run, whichever of them is the baseline.

use crate::{Metric, Shape};

/// Ratio of one network to another in one metric, paired within blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPair {
    /// Name of the workload.
    pub workload: String,
    /// Shape of the trials.
    pub shape: Shape,
    /// Metric of the ratio.
    pub metric: Metric,
    /// Label of the network in the numerator: the later one in the plan.
    pub network: String,
    /// Label of the network in the denominator.
    pub beside: String,
    /// Geometric mean of the blocks' ratios.
    pub value: f64,
    /// 95 % confidence interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of a ratio of 1, not corrected for the number of pairs.
    pub p: f64,
    /// Number of blocks that have both networks.
    pub n: u32,
}
