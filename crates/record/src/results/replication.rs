//! Comparison of a study's source with a run: its protocol, figures and conclusions beside those of the run.

use crate::{Nanos, ProtocolBasis, ProtocolScale, PublishedFigure, StudyQuestion, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Measured figure, converted so that it is comparable with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredFigure {
    /// Mean, over the unit of the published figure, in the metric's unit.
    pub value: f64,
    /// 95 % confidence interval of the mean.
    pub ci95: Option<[f64; 2]>,
    /// Number of blocks.
    pub n: u32,
    /// Ratio to the baseline of this run; 1 for the baseline itself.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Verdict on the ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Origin of a measured figure: what was run, after all overrides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FigureProvenance {
    /// Name of the workload that was run.
    pub workload: String,
    /// Time during which payload flowed in a trial, ns.
    pub duration: Nanos,
    /// Length of a slice, ns, if the trials were woven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Nanos>,
}

/// Published figure with the measured one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigurePair {
    /// Published figure.
    pub published: PublishedFigure,
    /// Published ratio to the published baseline, as printed or computed from the two figures.
    pub published_ratio: Option<f64>,
    /// Measured figure; `None` if nothing was measured.
    pub measured: Option<MeasuredFigure>,
    /// Origin of the measured figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<FigureProvenance>,
    /// Unit of the metric.
    pub unit: String,
    /// Reason why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// Agreement of the published and the measured ranking of networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankAgreement {
    /// Heading of the published table.
    pub table: String,
    /// Column of the table.
    pub column: String,
    /// Labels of the networks, best first as published.
    pub networks: Vec<String>,
    /// Kendall's tau-b: 1 for the same order, −1 for the reverse.
    pub tau: f64,
    /// Share of all orders of as many networks that agree at least as well.
    pub chance: f64,
}

/// Result of testing a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConclusionResult {
    /// All tests hold beyond doubt.
    Holds,
    /// At least one test fails beyond doubt.
    Fails,
    /// Neither: not measured, or not precisely enough.
    Undecidable,
}

impl fmt::Display for ConclusionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecidable => "undecidable",
        })
    }
}

/// Conclusion with the result of its tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestedConclusion {
    /// Words of the source, verbatim.
    pub claim: String,
    /// Author of the conclusion: the source's author, unless it is `reader`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Result of the tests.
    pub result: ConclusionResult,
    /// Observation that decides the result, or the reason why nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Explanation of how the words were turned into tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Observation for each test, in words.
    pub evidence: Vec<String>,
}

/// Field of a published protocol, with the value of this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolEntry {
    /// Name of the field: `duration`, `repetitions`, `tool`.
    pub field: String,
    /// Value in the study.
    pub value: String,
    /// Origin of the study's value.
    pub basis: ProtocolBasis,
    /// Words of the source, verbatim, if it states the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Reason for the assumption, or difference from the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Value of this run, after all overrides; the study's, where no part of the plan has it.
    #[serde(default)]
    pub here: String,
    /// True if this run did not keep to the study's value.
    #[serde(default)]
    pub differs: bool,
}

/// Published study whose protocol was run again, with the published figures and the measured ones. It is not a
/// reproduction: the kernels, engines and machines of the original are gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replication {
    /// Question that the conclusions answer, if the study has no published source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<StudyQuestion>,
    /// Scale of this run relative to the published protocol.
    pub scale: ProtocolScale,
    /// Fields of the protocol, each with the value of this run.
    pub protocol: Vec<ProtocolEntry>,
    /// Published figures, each with the measured one.
    pub figures: Vec<FigurePair>,
    /// Rank agreement for each column of at least three networks.
    pub ranks: Vec<RankAgreement>,
    /// Published conclusions, each with its result.
    pub conclusions: Vec<TestedConclusion>,
}
