//! What the source of a study published: its protocol, its figures, its conclusions; and what came of them here.

use crate::{Family, Metric, Parameters, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether the source says it, or the study's author had to assume it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The source says so.
    Stated,
    /// The source does not say.
    Assumed,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stated => "stated",
            Self::Assumed => "assumed",
        })
    }
}

/// One field of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProtocolField {
    /// Which: `duration`, `repetitions`, `tool`.
    pub field: String,
    /// What it is in this study.
    pub value: String,
    /// Whether the source says so.
    pub basis: Basis,
    /// The source's words, verbatim, where it is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it was assumed so, or how this differs from what the source had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Over what a published figure was averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// All clients together.
    #[default]
    Run,
    /// One client container.
    Container,
    /// One client process.
    Process,
}

impl Per {
    /// By how much an aggregate is divided for it.
    #[must_use]
    pub fn parts(self, shape: &Shape) -> f64 {
        match self {
            Self::Run => 1.0,
            Self::Container => f64::from(shape.clients),
            Self::Process => f64::from(shape.clients) * f64::from(shape.processes),
        }
    }
}

/// Parts of a shape: what is not named may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShapePart {
    /// Nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Server containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
    /// Client containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Client processes in each client container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Flows of each client process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// The IP family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// The MTU, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

impl ShapePart {
    /// Whether a shape has all these parts.
    #[must_use]
    pub fn is_of(&self, shape: &Shape) -> bool {
        fn same<T: PartialEq>(asked: &Option<T>, has: &T) -> bool {
            asked.as_ref().is_none_or(|asked| asked == has)
        }
        same(&self.nodes, &shape.nodes)
            && same(&self.servers, &shape.servers)
            && same(&self.clients, &shape.clients)
            && same(&self.processes, &shape.processes)
            && same(&self.flows, &shape.flows)
            && same(&self.family, &shape.family)
            && same(&self.mtu, &shape.mtu)
    }
}

impl fmt::Display for ShapePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("nodes", self.nodes.map(|n| n.to_string())),
            ("servers", self.servers.map(|n| n.to_string())),
            ("clients", self.clients.map(|n| n.to_string())),
            ("processes", self.processes.map(|n| n.to_string())),
            ("flows", self.flows.map(|n| n.to_string())),
            ("family", self.family.map(|family| family.to_string())),
            ("mtu", self.mtu.map(|n| n.to_string())),
        ];
        let named = parts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (at, (name, value)) in named.enumerate() {
            write!(f, "{}{name}={value}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// A cell of a study, told by what its source tells it by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellPart {
    /// The network's label in the study.
    pub network: String,
    /// The workload's name; one that stands in for it counts.
    pub workload: String,
    /// What was measured.
    pub metric: Metric,
    /// What is known of the shape.
    #[serde(default)]
    pub shape: ShapePart,
    /// What is known of the workload's parameters.
    #[serde(default)]
    pub parameters: Parameters,
    /// Over what it is averaged.
    #[serde(default)]
    pub per: Per,
}

/// A figure as it was published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFigure {
    /// The heading of its table, or where else it stands.
    pub table: String,
    /// Of which cell it is.
    pub cell: CellPart,
    /// The figure; nothing where only a ratio was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its unit, as printed.
    pub unit: String,
    /// The ratio to its baseline, where one was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The text, verbatim.
    pub text: String,
    /// What else the source says of the same thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// Why the unit or the cell is in doubt: then only ratios are worth comparing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambiguous: Option<String>,
}

/// How one cell stands to another, or to a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// More than it.
    Above,
    /// Less than it.
    Below,
    /// As much as it, within the margin.
    Within,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Above => "above",
            Self::Below => "below",
            Self::Within => "within the margin of",
        })
    }
}

/// One test of a conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The cell that something is said of.
    pub left: CellPart,
    /// What is said.
    pub is: Relation,
    /// The cell beside which it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<CellPart>,
    /// Times so much of that cell's figure: 0.9 for nine tenths of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// The figure beside which it is said, in the metric's unit, where it is no cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The margin of `within`, a share of 1 (points for what is compared by difference): the metric's own unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// A conclusion of the source as a predicate over cells: it holds where all its tests do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The source's words, verbatim.
    pub claim: String,
    /// Whose: the source's author unless it says `reader`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The tests. Without any nothing here can decide it, and `note` says why.
    #[serde(default, rename = "test")]
    pub tests: Vec<Test>,
    /// How the words were turned into tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How much of a published protocol a run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Durations and repetitions as published.
    #[default]
    AsPublished,
    /// Shorter ones.
    Scaled,
}

/// What a study's source published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Publication {
    /// How much of the protocol this run keeps.
    pub scale: Scale,
    /// The protocol.
    pub protocol: Vec<ProtocolField>,
    /// The figures.
    pub figures: Vec<PublishedFigure>,
    /// The conclusions.
    pub conclusions: Vec<Conclusion>,
}

/// A figure that was measured here, made comparable with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredFigure {
    /// The mean, over what the published figure was averaged over, in the metric's unit.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Blocks.
    pub n: u32,
    /// The ratio to the baseline here; 1 for the baseline itself.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub ratio_ci95: Option<[f64; 2]>,
}

/// A published figure with the measured one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigurePair {
    /// What was published.
    pub published: PublishedFigure,
    /// The published ratio to the published baseline: as printed, or made from the two figures.
    pub published_ratio: Option<f64>,
    /// What was measured.
    pub measured: Option<MeasuredFigure>,
    /// The metric's unit.
    pub unit: String,
    /// Why nothing was measured, where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// Whether networks stand in the same order here as they did then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankAgreement {
    /// The heading of the published table.
    pub table: String,
    /// Which of its columns.
    pub column: String,
    /// The networks, best first as published.
    pub networks: Vec<String>,
    /// Kendall's tau-b: 1 for the same order, −1 for the reverse.
    pub tau: f64,
    /// The share of all orders of so many networks that agree at least as well.
    pub chance: f64,
}

/// What came of a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Holding {
    /// All its tests hold beyond doubt.
    Holds,
    /// One of them fails beyond doubt.
    Fails,
    /// Neither: not measured, or not precisely enough.
    Undecidable,
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecidable => "undecidable",
        })
    }
}

/// A conclusion with what came of it here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concluded {
    /// The source's words.
    pub claim: String,
    /// Whose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What came of it.
    pub result: Holding,
    /// For each test what was seen, in words.
    pub evidence: Vec<String>,
}

/// A published study's protocol run again here, with what was published beside what was measured. Not a reproduction:
/// the kernels, engines and machines of then are gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rerun {
    /// How much of the protocol this run keeps.
    pub scale: Scale,
    /// The protocol.
    pub protocol: Vec<ProtocolField>,
    /// Every published figure.
    pub figures: Vec<FigurePair>,
    /// Rank agreement, for each column of at least three networks.
    pub ranks: Vec<RankAgreement>,
    /// Every published conclusion.
    pub conclusions: Vec<Concluded>,
}
