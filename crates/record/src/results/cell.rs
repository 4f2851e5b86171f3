//! Cell: network × workload × shape × metric, with the figures of all its trials and their statistics.

use crate::{Better, Finding, Hop, Metric, Parameters, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Verdict on a network relative to the baseline, from one confidence interval, the value 1 and the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better by more than the margin.
    Faster,
    /// Better, but within the margin.
    FasterSlightly,
    /// Within the margin, and not distinguishable from the baseline.
    Same,
    /// Worse, but within the margin.
    SlowerSlightly,
    /// Worse by more than the margin.
    Slower,
    /// Undecided: more blocks are needed.
    Unclear,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Faster => "faster",
            Self::FasterSlightly => "faster-slightly",
            Self::Same => "same",
            Self::SlowerSlightly => "slower-slightly",
            Self::Slower => "slower",
            Self::Unclear => "unclear",
        })
    }
}

/// Ratio of a cell to its baseline, paired within blocks, on the logarithmic scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Label of the baseline.
    pub baseline: String,
    /// Geometric mean of the blocks' ratios. If the networks were woven and the metric has figures of rounds, a block's
    /// ratio is the trimmed mean of its rounds' log ratios, a fifth of them left out at either end.
    pub value: f64,
    /// Geometric mean of the ratios of the blocks' plain means, if `value` is made of trimmed means of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<f64>,
    /// 90 % confidence interval: both one-sided 5 % tests against the margin (TOST) in one.
    pub ci90: [f64; 2],
    /// 95 % confidence interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of a ratio of 1 (paired t-test on the log ratio).
    pub p: f64,
    /// p-value after Holm's correction over the family.
    pub p_adjusted: f64,
    /// Family of the correction.
    pub family: String,
    /// Equivalence margin.
    pub margin: f64,
    /// Verdict.
    pub verdict: Verdict,
    /// Smallest change (as a share of 1) that this number of blocks would find in 80 % of runs.
    pub detectable: f64,
    /// For `unclear`: approximate number of blocks for a decision, if the ratio is as estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_decide: Option<u32>,
    /// Number of pairs.
    pub pairs: u32,
}

/// Difference of a cell from its baseline, in the metric's own unit, where a ratio has no meaning (`loss`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Label of the baseline.
    pub baseline: String,
    /// Mean of the blocks' differences.
    pub value: f64,
    /// 95 % confidence interval.
    pub ci95: [f64; 2],
}

/// Reason why a figure is withheld.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WithheldReason {
    /// Reason, in words.
    pub reason: String,
}

/// Figures of a network under a workload in a shape, for one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Name of the network.
    pub network: String,
    /// Name of the workload.
    pub workload: String,
    /// Label of the network in this run.
    pub label: String,
    /// Scope: `aggregate` for all clients together, `client:3` for the fourth client, `fairness` for Jain's index of
    /// the clients' figures (1: all are equal; 1/n: one of n has everything). The last two have no ratio, and exist
    /// only for trials of several clients.
    pub scope: String,
    /// Shape of the trials.
    pub shape: Shape,
    /// Parameters that distinguish this cell from others of the same workload.
    pub parameters: Parameters,
    /// Hops that a packet passes.
    pub hops: Vec<Hop>,
    /// Findings about the cell.
    pub findings: Vec<Finding>,
    /// Metric of the cell.
    pub metric: Metric,
    /// Unit of the figures; `index` for fairness.
    pub unit: String,
    /// Direction in which the metric improves.
    pub better: Better,
    /// One figure per block, in the order of the blocks; trials without a figure are left out.
    pub samples: Vec<f64>,
    /// Block of each sample.
    pub blocks: Vec<u32>,
    /// Number of samples.
    pub n: u32,
    /// Mean of the samples; `None` without samples.
    pub mean: Option<f64>,
    /// Median of the samples.
    pub median: Option<f64>,
    /// 95 % confidence interval of the median (bootstrap, BCa); `None` for fewer than eight samples.
    #[serde(default)]
    pub median_ci95: Option<[f64; 2]>,
    /// 95 % confidence interval of the mean (Student's t); `None` for fewer than two samples.
    pub ci95: Option<[f64; 2]>,
    /// Mean without removal of the warm-up.
    pub uncut_mean: Option<f64>,
    /// Ratio to the baseline; null for the baseline itself, and if a sample is 0.
    pub ratio: Option<Ratio>,
    /// Difference from the baseline, in points, for metrics without a meaningful ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Reason why there is no figure, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldReason>,
    /// True if no other network is better beyond doubt.
    pub best: bool,
}
