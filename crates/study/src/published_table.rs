//! Published tables of figures with common properties, as a study file writes them.

use schemars::JsonSchema;
use serde::Deserialize;
use tare_record::{AveragingUnit, Metric, Parameters, ShapePattern};

/// Published table, or another group of figures.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedTable {
    /// Heading of the table, or the place of its figures in the source.
    pub table: String,
    /// Workload of the figures.
    pub workload: String,
    /// Metric of the figures.
    pub metric: Metric,
    /// Unit of the figures, as printed.
    pub unit: String,
    /// Unit over which the figures were averaged.
    #[serde(default)]
    pub per: AveragingUnit,
    /// Parts of the shape that all figures have in common.
    #[serde(default)]
    pub shape: ShapePattern,
    /// Workload parameters that all figures have in common.
    #[serde(default)]
    pub parameters: Parameters,
    /// Reason why the unit or the cells are in doubt, if all of them are.
    pub ambiguous: Option<String>,
    /// Figures of the table.
    pub figures: Vec<FigureSpec>,
}

/// Published figure.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureSpec {
    /// Label of the network.
    pub network: String,
    /// Row of the table, if several networks are compared with the same row: an order has it once.
    pub row: Option<String>,
    /// Value of the figure; `None` if only a ratio was published.
    pub value: Option<f64>,
    /// Ratio to the source's baseline, if one was printed.
    pub ratio: Option<f64>,
    /// Text of the source, verbatim.
    pub text: String,
    /// Unit of the figure, if it is not the table's.
    pub unit: Option<String>,
    /// Metric of the figure, if it is not the table's.
    pub metric: Option<Metric>,
    /// Parts of the shape that differ from the table's or add to them.
    #[serde(default)]
    pub shape: ShapePattern,
    /// Workload parameters that differ from the table's or add to them.
    #[serde(default)]
    pub parameters: Parameters,
    /// Contradicting statement of the source on the same figure.
    pub conflict: Option<String>,
    /// Reason why the unit or the cell is in doubt.
    pub ambiguous: Option<String>,
}
