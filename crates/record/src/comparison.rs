//! Two sides of runs beside each other, cell by cell: what `tare compare` says.

use crate::{Better, Metric, Parameters, Shape, StoppedBy, Verdict, Withheld};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What is repeated on each side, and so the unit of every interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The runs: several on a side, each with a boot and a time of day of its own.
    Session,
    /// The blocks of one run a side: what sessions differ by among themselves is in no interval.
    Block,
}

/// Which figures are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compared {
    /// The figures themselves.
    #[default]
    Figures,
    /// Each run's ratios to its own baseline, made within its blocks: what moves a whole machine cancels.
    Ratios,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Figures => "figures",
            Self::Ratios => "ratios",
        })
    }
}

impl FromStr for Compared {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "figures" => Ok(Self::Figures),
            "ratios" => Ok(Self::Ratios),
            other => Err(format!("`{other}` cannot be compared: it is figures or ratios")),
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its directory, as it was named.
    pub directory: String,
    /// tare's version that measured.
    pub tare: String,
    /// Its study.
    pub study: String,
    /// Its kernel's release.
    pub kernel: String,
    /// When it began, RFC 3339, UTC.
    pub time: String,
    /// Whole blocks measured.
    pub blocks: u32,
    /// What ended it; null where it is unfinished.
    pub stopped_by: Option<StoppedBy>,
}

/// Something by which the environments or the methods of the runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contrasted {
    /// What, as `--vary` names it: `kernel`, `cpu`, `sysctl:net.ipv4.tcp_rmem`, `program:nft`.
    pub what: String,
    /// All values on the base side, each once.
    pub base: Vec<String>,
    /// All values on the new side, each once.
    pub new: Vec<String>,
    /// Whether it was named as the intended change.
    pub intended: bool,
}

/// What tells a cell from its neighbours, in every run alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellKey {
    /// The network's label.
    pub label: String,
    /// The workload's name.
    pub workload: String,
    /// How many of what.
    pub shape: Shape,
    /// The workload's parameters, as they were asked for.
    pub parameters: Parameters,
    /// What was measured.
    pub metric: Metric,
    /// `aggregate`, or `client:3`, or `fairness`.
    pub scope: String,
}

/// A cell that only one side has, or that some runs of a side lack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unmatched {
    /// Which cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// How many of the base side's runs have it.
    pub base: u32,
    /// How many of the new side's runs have it.
    pub new: u32,
}

/// One side's figures of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// One figure for each unit: a run's mean (of the logarithms, where ratios are made), or a block's figure.
    pub samples: Vec<f64>,
    /// How many.
    pub n: u32,
    /// Their mean; the geometric one where ratios are made.
    pub mean: f64,
}

/// Whether a regression beyond the limit is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// None beyond the limit: the upper bound lies within it.
    Passed,
    /// One beyond the limit: the adjusted lower bound exceeds it.
    Regression,
    /// Neither can be said.
    CouldNotTell,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Regression => "regression",
            Self::CouldNotTell => "could not tell",
        })
    }
}

/// How much worse the new side is: a share of the base side's figure (0.05: throughput fell by 5 %, latency grew by
/// 5 %), or points where a ratio has no meaning; below zero where it is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regression {
    /// The estimate.
    pub value: f64,
    /// Its lower bound, adjusted for the number of cells that are judged: all such bounds hold together in 95 % of comparisons.
    pub lower: f64,
    /// Its upper bound at 95 %.
    pub upper: f64,
    /// The smallest regression that would have been found, as one beyond the limit, in about 80 % of such comparisons.
    pub detectable: f64,
}

/// The new side beside the base side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The ratio of new to base, or their difference where a ratio has no meaning.
    pub value: f64,
    /// Whether `value` and its intervals are a difference in the metric's unit, or a ratio.
    pub difference: bool,
    /// Its 90 % interval.
    pub ci90: [f64; 2],
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of no change (Welch's t-test).
    pub p: f64,
    /// The same after Holm's correction over all compared cells.
    pub p_adjusted: f64,
    /// What follows for a margin; nothing for a difference.
    pub verdict: Option<Verdict>,
    /// How much worse the new side is.
    pub regression: Regression,
}

/// A cell that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCell {
    /// Which cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// The unit of both sides' figures.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// The equivalence margin.
    pub margin: f64,
    /// The base side.
    pub base: Option<Side>,
    /// The new side.
    pub new: Option<Side>,
    /// The new side beside the base side.
    pub change: Option<Change>,
    /// Why there is no change to tell, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// What is said of it under a limit; nothing for cells that are shown and not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The limit beyond which a regression fails, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The limit, a share of 1; for what is compared by difference the same number of hundredths in points.
    pub limit: f64,
    /// How many cells were judged.
    pub cells: u32,
    /// The worst outcome of all.
    pub outcome: Outcome,
    /// Where it could not tell: the smallest regression that all cells in doubt would have shown in about 80 % of such comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
}

/// Everything that two sides of runs say beside each other, derived from their journals alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// tare's version that compared.
    pub tare: String,
    /// The runs of the base side.
    pub base: Vec<Session>,
    /// The runs of the new side.
    pub new: Vec<Session>,
    /// What is repeated.
    pub unit: Unit,
    /// Which figures are compared.
    pub of: Compared,
    /// What was named as the intended change.
    pub vary: Vec<String>,
    /// By what else, and by what of that, the two sides differ.
    pub differences: Vec<Contrasted>,
    /// The cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// The cells that one side lacks.
    pub unmatched: Vec<Unmatched>,
    /// The limit and what came of it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}
