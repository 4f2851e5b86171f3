//! Tables of a document: the aggregate cells of one shape and one set of parameters each. Tables of single clients
//! follow their shape, tables of sweeps and of pairs of nodes follow all others.
//!
//! A heading names only the differences between the tables. Common facts are in the line above all tables.

use crate::grid::Grid;
use crate::shape_facts::{SharedFacts, WorkloadVariant, differing_variant, variant};
use crate::{client_shares, curves, node_matrix};
use tare_record::{Cell, Document, Shape, counted};

/// Cells of one table, in the document's order.
struct TableSection<'a> {
    /// Facts that distinguish this table from the others; empty if there are none.
    heading: String,
    /// Aggregate cells of the table.
    cells: Vec<&'a Cell>,
}

/// Key of a table: all its cells share these values.
#[derive(Clone, Copy, PartialEq)]
struct TableKey<'a> {
    shape: &'a Shape,
    /// Workload and its parameters, if it was run with several sets of them.
    variant: Option<WorkloadVariant<'a>>,
}

/// Table with its heading.
pub(crate) struct TitledTable<'a> {
    /// Heading; empty if no fact distinguishes the table from the others.
    pub(crate) heading: String,
    /// Shape whose first table it is; `None` for all other tables.
    pub(crate) first_of: Option<&'a Shape>,
    /// Content of the table.
    pub(crate) grid: Grid,
}

/// Builds all tables of a document: for each shape the networks, by `grid`, and the single clients; then
/// the sweeps and the pairs of nodes.
pub(crate) fn titled_tables(
    document: &Document,
    grid: fn(&[&Cell]) -> Grid,
) -> Vec<TitledTable<'_>> {
    let mut sheets: Vec<TitledTable<'_>> = Vec::new();
    let sections = sections(document);
    for (at, TableSection { heading, cells }) in sections.iter().enumerate() {
        let shape = &cells[0].shape;
        let known = sheets.iter().any(|sheet| sheet.first_of == Some(shape));
        let first_of = (!known).then_some(shape);
        sheets.push(TitledTable { heading: heading.clone(), first_of, grid: grid(cells) });
        let last = sections.get(at + 1).is_none_or(|next| next.cells[0].shape != *shape);
        if let Some(grid) = client_shares::grid(document, shape).filter(|_| last) {
            let words = counted(shape.clients, "client", "clients");
            let heading = format!("shares of {words}");
            sheets.push(TitledTable { heading, first_of: None, grid });
        }
    }
    let curves = curves::curves(document).into_iter();
    sheets.extend(curves.map(|curves| TitledTable {
        heading: curves.heading,
        first_of: None,
        grid: curves.grid,
    }));
    let matrices = node_matrix::node_matrices(document).into_iter();
    sheets.extend(matrices.map(|matrices| TitledTable {
        grid: matrices.grid(),
        heading: matrices.heading,
        first_of: None,
    }));
    sheets
}

/// Returns the cells of each table of networks, ordered by the first cell of each.
fn sections(document: &Document) -> Vec<TableSection<'_>> {
    let mut tables: Vec<(TableKey<'_>, Vec<&Cell>)> = Vec::new();
    for cell in aggregates(document) {
        let key = TableKey { shape: &cell.shape, variant: variant(document, cell) };
        match tables.iter_mut().find(|(other, _)| *other == key) {
            Some((_, cells)) => cells.push(cell),
            None => tables.push((key, vec![cell])),
        }
    }
    let keys: Vec<TableKey<'_>> = tables.iter().map(|(key, _)| *key).collect();
    let shared = SharedFacts::find(keys.iter().map(|key| key.shape)).naming_nodes(document);
    tables
        .into_iter()
        .map(|(key, cells)| TableSection { heading: heading(&key, &keys, &shared), cells })
        .collect()
}

/// Returns the cells over all clients.
pub(crate) fn aggregates(document: &Document) -> impl Iterator<Item = &Cell> {
    document.cells.iter().filter(|cell| cell.scope == "aggregate")
}

/// Writes the heading of a table: the facts, the workload and the parameters that distinguish it from the others.
fn heading(key: &TableKey<'_>, keys: &[TableKey<'_>], shared: &SharedFacts) -> String {
    let mut words = shared.differing(key.shape);
    words.extend(key.variant.map(|(workload, _)| workload.to_owned()));
    words.extend(differing_variant(key.variant, keys.iter().map(|key| key.variant)));
    words.join(", ")
}
