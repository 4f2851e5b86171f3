//! Published figures of a study's source next to the figures measured here.

use super::data_table::{DataTable, TableValue};
use super::element::Element;
use crate::grid::{Grid, GridCell, GridColumn};
use crate::replication::{ShownFigures, conclusion, grids, headline, rank};
use tare_record::Replication;

/// Renders a table for each published table, then rank agreements and conclusions.
pub(crate) fn published(rerun: &Replication) -> Vec<Element> {
    let mut parts = vec![Element::new("p").push(headline(rerun))];
    parts.extend(grids(rerun, ShownFigures::All).iter().map(|(heading, grid)| {
        Element::new("div")
            .class("scroll")
            .with("tabindex", 0)
            .with("role", "region")
            .with("aria-label", heading)
            .push(table(grid).render(heading))
    }));
    let lines: Vec<String> =
        rerun.ranks.iter().map(rank).chain(rerun.conclusions.iter().flat_map(conclusion)).collect();
    if !lines.is_empty() {
        let items = lines.iter().map(|line| Element::new("li").push(line.trim()));
        parts.push(Element::new("ul").class("notes").extend(items));
    }
    parts
}

/// Converts a grid of the terminal to an HTML table.
fn table(grid: &Grid) -> DataTable {
    let columns = || std::iter::once(&grid.names).chain(&grid.columns);
    let head = |column: &GridColumn| {
        let parts = [&column.group, &column.name, &column.unit].map(String::as_str);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let words = |cell: &GridCell| {
        let pieces = cell.iter().map(|piece| piece.text.trim());
        pieces.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let mut table = DataTable::new(columns().map(head));
    for at in 0..grid.names.cells.len() {
        table.add(
            columns()
                .map(|column| {
                    TableValue::from(column.cells.get(at).map_or_else(String::new, words))
                })
                .collect(),
        );
    }
    table
}
