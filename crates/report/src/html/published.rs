//! Published figures, conclusions and protocol of a study's source, with those of this run.

use super::data_table::{DataTable, TableValue};
use super::element::Element;
use crate::grid::{Grid, GridCell, GridColumn};
use crate::replication::{comparisons, conclusion_grid, headline, protocol_grid};
use tare_record::Replication;

/// Renders a table for each published table, with its remarks; then the conclusions and the protocol.
pub(crate) fn published(rerun: &Replication) -> Vec<Element> {
    let mut parts = vec![Element::new("p").push(headline(rerun))];
    for table in comparisons(rerun) {
        let caption = format!("{}: {}", table.heading, table.caption);
        parts.push(scrolled(&table.grid, &caption, "scroll"));
        let lines: Vec<&String> = table.footnotes.iter().chain(&table.order).collect();
        if !lines.is_empty() {
            let items = lines.into_iter().map(|line| Element::new("li").push(line.as_str()));
            parts.push(Element::new("ul").class("notes").extend(items));
        }
    }
    let texts = [(conclusion_grid(rerun), "Conclusions"), (protocol_grid(rerun), "Protocol")];
    for (grid, caption) in texts {
        parts.extend(grid.map(|grid| scrolled(&grid, caption, "scroll words")));
    }
    parts
}

/// Renders a table that scrolls where it does not fit.
fn scrolled(grid: &Grid, caption: &str, classes: &str) -> Element {
    Element::new("div")
        .class(classes)
        .with("tabindex", 0)
        .with("role", "region")
        .with("aria-label", caption)
        .push(table(grid).render(caption))
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
