//! A cell: network × workload × shape × metric, with all its trials' figures and what follows from them.

use crate::{Better, Finding, Hop, Metric, Parameters, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What can be said of a network beside the baseline, read off one interval against 1 and the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better by more than the margin.
    Faster,
    /// Better, yet within the margin.
    FasterSlightly,
    /// Within the margin, and not told apart from the baseline.
    Same,
    /// Worse, yet within the margin.
    SlowerSlightly,
    /// Worse by more than the margin.
    Slower,
    /// More blocks are needed.
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

/// A cell beside its baseline, paired within blocks, on the log scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The baseline's label.
    pub baseline: String,
    /// The geometric mean of the blocks' ratios.
    pub value: f64,
    /// Its 90 % interval: both one-sided 5 % tests against the margin (TOST) in one.
    pub ci90: [f64; 2],
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of a ratio of 1 (paired t-test on the log ratio).
    pub p: f64,
    /// The same after Holm's correction over the family.
    pub p_adjusted: f64,
    /// The family of that correction.
    pub family: String,
    /// The equivalence margin.
    pub margin: f64,
    /// What follows.
    pub verdict: Verdict,
    /// The smallest change (as a share of 1) that this many blocks would find in 80 % of runs.
    pub detectable: f64,
    /// For `unclear`: about how many blocks would decide, if the ratio is what it seems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_decide: Option<u32>,
    /// The pairs it was made from.
    pub pairs: u32,
}

/// A cell beside its baseline as a difference, where a ratio has no meaning (`loss`), in the metric's own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The baseline's label.
    pub baseline: String,
    /// The mean of the blocks' differences.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}

/// Why a cell has no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// Why, in words.
    pub reason: String,
}

/// Network × workload × shape × metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The network's name.
    pub network: String,
    /// The workload's name.
    pub workload: String,
    /// The network's label in this run.
    pub label: String,
    /// Of whom: `aggregate`, all clients together; `client:3`, the fourth of them; `fairness`, how evenly they shared the
    /// metric, by Jain's index (1: all alike; 1/n: one of n had all). The last two have no ratio, and only trials of
    /// several clients have them.
    pub scope: String,
    /// How many of what.
    pub shape: Shape,
    /// What else tells this cell from its neighbours.
    pub parameters: Parameters,
    /// What a packet passed.
    pub hops: Vec<Hop>,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// What was measured.
    pub metric: Metric,
    /// Its unit; `index` for fairness.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// One figure a block, in the order of the blocks; a trial that gave none is left out.
    pub samples: Vec<f64>,
    /// The block of each sample.
    pub blocks: Vec<u32>,
    /// How many samples.
    pub n: u32,
    /// Their mean; nothing when there are none.
    pub mean: Option<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// The median's 95 % interval (bootstrap, BCa); nothing below eight samples.
    #[serde(default)]
    pub median_ci95: Option<[f64; 2]>,
    /// The mean's 95 % interval (Student's t); nothing below two samples.
    pub ci95: Option<[f64; 2]>,
    /// The mean with no warm-up cut off.
    pub uncut_mean: Option<f64>,
    /// Beside the baseline; null for the baseline itself, and where a sample is 0.
    pub ratio: Option<Ratio>,
    /// Beside the baseline, in points, where a ratio has no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Why there is no figure, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Whether no other network was better beyond doubt.
    pub best: bool,
}
