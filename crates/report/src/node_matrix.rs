//! Figures by pair of a cluster's nodes: for each network a matrix of the client's node by the server's.
//!
//! The baseline has its figures, because pairs of nodes differ by themselves; all other networks have their ratios to the
//! baseline on the same pair.

use crate::columns::{self, NOTHING};
use crate::curves::is_first_metric;
use crate::grid::{CellPiece, Grid, GridCell, GridColumn};
use crate::number;
use crate::shape_facts::{
    NodeNames, SharedFacts, WorkloadVariant, differing_variant, node_names, variant,
};
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{Cell, Document, Metric, Shape};

/// Matrices of all networks for one metric of a workload: the first that it has.
pub(crate) struct NodeMatrices<'a> {
    /// Workload and metric, and the facts by which their shape differs from others.
    pub(crate) heading: String,
    /// Nodes of the clients, in alphabetical order.
    pub(crate) clients: Vec<&'a str>,
    /// Nodes of the servers, in alphabetical order.
    pub(crate) servers: Vec<&'a str>,
    /// Networks, in the document's order.
    pub(crate) networks: Vec<NodeMatrix<'a>>,
}

/// Matrix of one network.
pub(crate) struct NodeMatrix<'a> {
    /// Label of the network.
    pub(crate) label: &'a str,
    /// Cells with the nodes of their clients and servers.
    cells: Vec<(NodeNames<'a>, &'a Cell)>,
}

/// Key of the matrices: all their cells share these values.
#[derive(PartialEq)]
struct MatrixKey<'a> {
    /// Shape without its pair of nodes.
    shape: Shape,
    workload: &'a str,
    variant: Option<WorkloadVariant<'a>>,
    metric: Metric,
}

/// Cell of a pair of nodes.
type PairCell<'a> = (NodeNames<'a>, &'a Cell);

/// Returns the matrices of a document. None unless it has several pairs of nodes.
pub(crate) fn node_matrices<'a>(document: &'a Document) -> Vec<NodeMatrices<'a>> {
    let mut all: Vec<(MatrixKey<'a>, Vec<PairCell<'a>>)> = Vec::new();
    let over_pairs = document.cells.iter().filter(|cell| cell.shape.node_pair.is_some());
    for cell in over_pairs.filter(|cell| is_first_metric(document, cell)) {
        let Some(nodes) = node_names(cell) else { continue };
        let key = MatrixKey {
            shape: Shape { node_pair: None, ..cell.shape.clone() },
            workload: &cell.workload,
            variant: variant(document, cell),
            metric: cell.metric,
        };
        match all.iter_mut().find(|(other, _)| *other == key) {
            Some((_, cells)) => cells.push((nodes, cell)),
            None => all.push((key, vec![(nodes, cell)])),
        }
    }
    let shared = SharedFacts::find(all.iter().map(|(key, _)| &key.shape));
    let matrices = |(key, cells): &(MatrixKey<'a>, Vec<PairCell<'a>>)| {
        let mut facts = shared.differing(&key.shape);
        let variants = all.iter().map(|(key, _)| key.variant);
        facts.extend(differing_variant(key.variant, variants));
        NodeMatrices::new(heading(key, &facts), cells)
    };
    all.iter().map(matrices).collect()
}

fn heading(key: &MatrixKey<'_>, facts: &[String]) -> String {
    let mut heading = format!("{} {} by pair of nodes", key.workload, key.metric);
    for fact in facts {
        heading.push_str(&format!(", {fact}"));
    }
    one_line(&heading)
}

impl<'a> NodeMatrices<'a> {
    fn new(heading: String, cells: &[PairCell<'a>]) -> Self {
        let mut networks: Vec<NodeMatrix<'a>> = Vec::new();
        for &(nodes, cell) in cells {
            let label = cell.label.as_str();
            let known = networks.iter().position(|one| one.label == label);
            let at = known.unwrap_or_else(|| {
                networks.push(NodeMatrix { label, cells: Vec::new() });
                networks.len() - 1
            });
            networks[at].cells.push((nodes, cell));
        }
        let clients = sorted(cells.iter().map(|(nodes, _)| nodes.client));
        let servers = sorted(cells.iter().map(|(nodes, _)| nodes.server));
        Self { heading, clients, servers, networks }
    }

    /// Builds the table: a row for each client's node, and for each network a column for each server's node.
    pub(crate) fn grid(&self) -> Grid {
        let clients = self.clients.iter();
        let name = |client: &&str| vec![CellPiece::new(Tone::Strong, one_line(client))];
        Grid {
            names: GridColumn {
                name: "from".to_owned(),
                cells: clients.map(name).collect(),
                ..GridColumn::default()
            },
            columns: self.networks.iter().flat_map(|network| self.columns(network)).collect(),
        }
    }

    fn columns(&self, network: &NodeMatrix<'a>) -> Vec<GridColumn> {
        let column = |server: &&str| {
            let cells: Vec<Option<&Cell>> =
                self.clients.iter().map(|client| network.cell(client, server)).collect();
            let figures = cells.iter().map(|cell| cell.map_or_else(dash, figure));
            let figures = number::align(&figures.collect::<Vec<_>>());
            GridColumn {
                group: one_line(network.label),
                name: format!("to {}", one_line(server)),
                unit: network.unit().map(one_line).unwrap_or_default(),
                cells: cells
                    .iter()
                    .zip(figures)
                    .map(|(cell, figure)| pieces(*cell, figure))
                    .collect(),
            }
        };
        self.servers.iter().map(column).collect()
    }
}

impl<'a> NodeMatrix<'a> {
    /// Returns the cell of a pair of nodes.
    pub(crate) fn cell(&self, client: &str, server: &str) -> Option<&'a Cell> {
        let of_pair = self.cells.iter().find(|(nodes, _)| *nodes == NodeNames { client, server });
        of_pair.map(|(_, cell)| *cell)
    }

    /// Returns the unit of the figures. Ratios have none.
    fn unit(&self) -> Option<&'a str> {
        let has_figures = self.cells.iter().all(|(_, cell)| columns::baseline(cell).is_none());
        self.cells.first().filter(|_| has_figures).map(|(_, cell)| cell.unit.as_str())
    }
}

fn dash() -> String {
    NOTHING.to_owned()
}

/// Returns the ratio or difference of a cell to the baseline, and the figure of the baseline itself.
fn figure(cell: &Cell) -> String {
    match (columns::baseline(cell), cell.mean) {
        (Some(_), _) => columns::ratio(Some(cell)),
        (None, Some(mean)) => match number::figure(mean, cell.ci95, cell.n) {
            (mean, Some(half)) => format!("{mean} ± {half}"),
            (mean, None) => mean,
        },
        (None, None) => dash(),
    }
}

fn pieces(cell: Option<&Cell>, figure: String) -> GridCell {
    let verdict = cell.and_then(|cell| cell.ratio.as_ref()).map(|ratio| ratio.verdict);
    let tone = verdict.map_or(Tone::Plain, columns::tone);
    let words = verdict.map(|verdict| verdict.to_string()).unwrap_or_default();
    vec![CellPiece::new(tone, figure), CellPiece::new(tone, words)]
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}
