//! Published protocol, figures and conclusions of a study's source.

use crate::{Family, Metric, Parameters, Placement, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Origin of a protocol value: stated by the source, or assumed by the study's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolBasis {
    /// The source states the value.
    Stated,
    /// The source does not state the value.
    Assumed,
}

impl fmt::Display for ProtocolBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stated => "stated",
            Self::Assumed => "assumed",
        })
    }
}

/// Field of a published protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProtocolField {
    /// Name of the field: `duration`, `repetitions`, `tool`.
    pub field: String,
    /// Value in this study.
    pub value: String,
    /// Origin of the value.
    pub basis: ProtocolBasis,
    /// Words of the source, verbatim, if it states the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Reason for the assumption, or difference from the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Part of the plan that the field describes, as `WORKLOAD.PART`, so that a run can state its own value. The part is
    /// `tool`, `duration`, `warm-up`, `blocks`, a number of the shape such as `flows`, or a parameter of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Unit over which a published figure was averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AveragingUnit {
    /// The run: all clients together.
    #[default]
    Run,
    /// One client container.
    Container,
    /// One client process.
    Process,
}

impl AveragingUnit {
    /// Returns the divisor that converts an aggregate into a figure of this unit.
    #[must_use]
    pub fn divisor(self, shape: &Shape) -> f64 {
        match self {
            Self::Run => 1.0,
            Self::Container => f64::from(shape.clients),
            Self::Process => f64::from(shape.clients) * f64::from(shape.processes),
        }
    }
}

/// Pattern of shapes: a part that is not given matches any value, but for the background load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShapePattern {
    /// Number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Number of server containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
    /// Number of client containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Number of client processes in each client container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Number of flows of each client process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// IP family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// MTU, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Placement of the two sides on cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cpus: Option<Placement>,
    /// Background load: `cpu=2`. If it is not given, the shape has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// Number of the pair of a cluster's nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_pair: Option<u32>,
}

impl ShapePattern {
    /// Returns true if a shape matches all given parts.
    #[must_use]
    pub fn matches(&self, shape: &Shape) -> bool {
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
            && same(&self.cpus, &shape.cpus)
            && self.background == shape.background
            && (self.node_pair.is_none() || self.node_pair == shape.node_pair)
    }
}

impl fmt::Display for ShapePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("nodes", self.nodes.map(|n| n.to_string())),
            ("servers", self.servers.map(|n| n.to_string())),
            ("clients", self.clients.map(|n| n.to_string())),
            ("processes", self.processes.map(|n| n.to_string())),
            ("flows", self.flows.map(|n| n.to_string())),
            ("family", self.family.map(|family| family.to_string())),
            ("mtu", self.mtu.map(|n| n.to_string())),
            ("cpus", self.cpus.as_ref().map(Placement::to_string)),
            ("background", self.background.clone()),
            ("node_pair", self.node_pair.map(|n| n.to_string())),
        ];
        let named = parts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (at, (name, value)) in named.enumerate() {
            write!(f, "{}{name}={value}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// Pattern of a study's cells, by the properties that its source gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellPattern {
    /// Label of the network in the study.
    pub network: String,
    /// Name of the workload; a workload that stands in for it matches, too.
    pub workload: String,
    /// Metric of the cell.
    pub metric: Metric,
    /// Known parts of the shape.
    #[serde(default)]
    pub shape: ShapePattern,
    /// Known parameters of the workload.
    #[serde(default)]
    pub parameters: Parameters,
    /// Unit over which the figure is averaged.
    #[serde(default)]
    pub per: AveragingUnit,
}

/// Published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedFigure {
    /// Heading of the table, or another place in the source.
    pub table: String,
    /// Cell that the figure describes.
    pub cell: CellPattern,
    /// Value of the figure; `None` if only a ratio was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Row of the table, if several networks are compared with the same row: an order has it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Unit, as printed.
    pub unit: String,
    /// Ratio to the source's baseline, if one was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Text of the source, verbatim.
    pub text: String,
    /// Figure as printed in that text: `~400`, `10.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Contradicting statement of the source on the same figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// Reason why the unit or the cell is in doubt. Only ratios are worth comparing then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambiguous: Option<String>,
}

/// Relation of a cell to another cell or to a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CellRelation {
    /// The cell's figure is larger.
    Above,
    /// The cell's figure is smaller.
    Below,
    /// Both are equal within the margin.
    Within,
}

impl fmt::Display for CellRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Above => "above",
            Self::Below => "below",
            Self::Within => "within the margin of",
        })
    }
}

/// Test of a conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConclusionTest {
    /// Cell under test.
    pub left: CellPattern,
    /// Relation that the conclusion claims.
    pub is: CellRelation,
    /// Cell that the cell under test is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<CellPattern>,
    /// Factor on the figure of `right`: 0.9 for nine tenths of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// Figure that the cell under test is compared with, in the metric's unit, if there is no cell `right`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Margin of `within`, as a share of 1 (points for metrics that are compared by difference); the metric's own
    /// margin unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// Conclusion of the source as a predicate over cells. It holds if all its tests hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// Words of the source, verbatim.
    pub claim: String,
    /// Author of the conclusion: the source's author, unless it is `reader`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Tests. A conclusion without tests cannot be decided here, and `note` gives the reason.
    #[serde(default, rename = "test")]
    pub tests: Vec<ConclusionTest>,
    /// Explanation of how the words were turned into tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Scale of a run relative to the published protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolScale {
    /// Durations and repetitions as published.
    #[default]
    AsPublished,
    /// Shorter durations or fewer repetitions.
    Scaled,
}

/// Question that a study of this project's own answers: its conclusions are the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyQuestion {
    /// Question, as people ask it.
    pub asked: String,
    /// Conditions under which the answer may be another one, a sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
}

/// Published protocol, figures and conclusions of a study's source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Publication {
    /// Question of the study, if its source is this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<StudyQuestion>,
    /// Scale of this run relative to the published protocol.
    pub scale: ProtocolScale,
    /// Fields of the protocol.
    pub protocol: Vec<ProtocolField>,
    /// Published figures.
    pub figures: Vec<PublishedFigure>,
    /// Published conclusions.
    pub conclusions: Vec<Conclusion>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_background_load_is_matched_only_by_name() {
        let loaded = Shape { background: Some("cpu=2".to_owned()), ..Shape::default() };
        let named =
            ShapePattern { background: loaded.background.clone(), ..ShapePattern::default() };
        let any = ShapePattern::default();
        assert!(named.matches(&loaded) && !named.matches(&Shape::default()));
        assert!(any.matches(&Shape::default()) && !any.matches(&loaded));
        assert_eq!(named.to_string(), "background=cpu=2");
    }
}
