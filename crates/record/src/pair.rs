//! Two networks of a run beside each other, whichever of them is the baseline.

use crate::{Metric, Shape};

/// One network beside another in one metric, paired within blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The workload.
    pub workload: String,
    /// How many of what.
    pub shape: Shape,
    /// The metric.
    pub metric: Metric,
    /// The label of the network above the line of the ratio: the later one in the plan.
    pub network: String,
    /// The label of the network below it.
    pub beside: String,
    /// The geometric mean of the blocks' ratios.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of a ratio of 1, not corrected for the number of pairs.
    pub p: f64,
    /// The blocks that both are in.
    pub n: u32,
}
