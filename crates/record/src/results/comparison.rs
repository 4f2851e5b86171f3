//! Comparison of two sides of runs, cell by cell, as printed by `tare compare`.

use crate::{Better, Metric, Parameters, Shape, StoppedBy, Verdict, WithheldReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Sampling unit of each side, which is the unit of every confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SampleUnit {
    /// Runs: several on a side, each with its own boot and time of day.
    Session,
    /// Blocks of one run per side. The variation between runs is in no confidence interval.
    Block,
}

/// Figures that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonBasis {
    /// Figures in the unit of the metric.
    #[default]
    Figures,
    /// Ratios of each run to its own baseline, computed within its blocks, so that effects on the whole machine cancel.
    Ratios,
}

impl fmt::Display for ComparisonBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Figures => "figures",
            Self::Ratios => "ratios",
        })
    }
}

impl FromStr for ComparisonBasis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "figures" => Ok(Self::Figures),
            "ratios" => Ok(Self::Ratios),
            other => Err(format!("invalid value `{other}`: expected figures or ratios")),
        }
    }
}

/// Run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Directory of the run, as named on the command line.
    pub directory: String,
    /// Version of tare that measured.
    pub tare: String,
    /// Name of the study.
    pub study: String,
    /// Kernel release.
    pub kernel: String,
    /// Time at which the run began, RFC 3339, UTC.
    pub time: String,
    /// Number of whole blocks measured.
    pub blocks: u32,
    /// Condition that ended the run; null if it is unfinished.
    pub stopped_by: Option<StoppedBy>,
}

/// Difference between the environments or the methods of the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentDifference {
    /// Name of the property, as for `--vary`: `kernel`, `cpu`, `sysctl:net.ipv4.tcp_rmem`, `program:nft`.
    pub what: String,
    /// Values on the base side, each once.
    pub base: Vec<String>,
    /// Values on the new side, each once.
    pub new: Vec<String>,
    /// True if it was named as the intended change.
    pub intended: bool,
}

/// Key that identifies a cell in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellKey {
    /// Label of the network.
    pub label: String,
    /// Name of the workload.
    pub workload: String,
    /// Shape of the trials.
    pub shape: Shape,
    /// Requested parameters of the workload.
    pub parameters: Parameters,
    /// Metric of the cell.
    pub metric: Metric,
    /// Scope: `aggregate`, `client:3` or `fairness`.
    pub scope: String,
}

/// Cell that only one side has, or that some runs of a side lack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedCell {
    /// Key of the cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// Number of runs of the base side that have the cell.
    pub base: u32,
    /// Number of runs of the new side that have the cell.
    pub new: u32,
}

/// Figures of one side of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// One figure for each sampling unit: a run's mean (of the logarithms, where ratios are computed), or a block's
    /// figure.
    pub samples: Vec<f64>,
    /// Number of samples.
    pub n: u32,
    /// Mean of the samples; the geometric mean where ratios are computed.
    pub mean: f64,
}

/// Outcome of the check for a regression beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// No regression beyond the limit: the upper bound is within the limit.
    Passed,
    /// Regression beyond the limit: the adjusted lower bound exceeds the limit.
    Regression,
    /// The data decide neither.
    CouldNotTell,
}

impl fmt::Display for GateOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Regression => "regression",
            Self::CouldNotTell => "undecided",
        })
    }
}

/// Regression of the new side: a share of the base side's figure (0.05: throughput fell by 5 %, latency grew by 5 %),
/// or points where a ratio has no meaning. A negative value is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionEstimate {
    /// Estimate of the regression.
    pub value: f64,
    /// Lower bound, adjusted for the number of judged cells: all such bounds hold together in 95 % of comparisons.
    pub lower: f64,
    /// Upper bound at 95 %.
    pub upper: f64,
    /// Smallest regression that would be found to exceed the limit in about 80 % of such comparisons.
    pub detectable: f64,
}

/// Change from the base side to the new side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellChange {
    /// Ratio of new to base, or their difference where a ratio has no meaning.
    pub value: f64,
    /// True if `value` and its intervals are a difference in the metric's unit, false if they are a ratio.
    pub difference: bool,
    /// 90 % confidence interval.
    pub ci90: [f64; 2],
    /// 95 % confidence interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of no change (Welch's t-test).
    pub p: f64,
    /// p-value after Holm's correction over all compared cells.
    pub p_adjusted: f64,
    /// Verdict for the margin; `None` for a difference.
    pub verdict: Option<Verdict>,
    /// Regression of the new side.
    pub regression: RegressionEstimate,
}

/// Cell that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCell {
    /// Key of the cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// Unit of both sides' figures.
    pub unit: String,
    /// Direction in which the metric improves.
    pub better: Better,
    /// Equivalence margin.
    pub margin: f64,
    /// Figures of the base side.
    pub base: Option<ComparedSide>,
    /// Figures of the new side.
    pub new: Option<ComparedSide>,
    /// Change from the base side to the new side.
    pub change: Option<CellChange>,
    /// Reason why there is no change, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldReason>,
    /// Outcome under a limit; `None` for cells that are shown and not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<GateOutcome>,
}

/// Limit beyond which a regression fails the comparison, with the outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionGate {
    /// Limit, as a share of 1; for metrics that are compared by difference, the same number of hundredths in points.
    pub limit: f64,
    /// Number of judged cells.
    pub cells: u32,
    /// Worst outcome of all cells.
    pub outcome: GateOutcome,
    /// Smallest regression that all undecided cells would have shown in about 80 % of such comparisons; `None` unless
    /// the outcome is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
}

/// Results of a comparison of two sides of runs, derived from their journals alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Version of tare that compared.
    pub tare: String,
    /// Runs of the base side.
    pub base: Vec<ComparedRun>,
    /// Runs of the new side.
    pub new: Vec<ComparedRun>,
    /// Sampling unit of both sides.
    pub unit: SampleUnit,
    /// Figures that are compared.
    pub of: ComparisonBasis,
    /// Names of the intended changes.
    pub vary: Vec<String>,
    /// Differences between the two sides, with their values.
    pub differences: Vec<EnvironmentDifference>,
    /// Cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// Cells that one side lacks.
    pub unmatched: Vec<UnmatchedCell>,
    /// Limit and outcome, if a limit was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<RegressionGate>,
}
