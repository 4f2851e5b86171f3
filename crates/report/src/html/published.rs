//! What a study's source published, beside what was measured here.

use super::data::{Datum, Table};
use super::element::Element;
use crate::grid::{Cell, Column, Grid};
use crate::rerun::{Rows, conclusion, grids, headline, rank};
use tare_record::Rerun;

/// A table for each published one, then orders and conclusions.
pub(crate) fn published(rerun: &Rerun) -> Vec<Element> {
    let mut parts = vec![Element::new("p").push(headline(rerun))];
    parts.extend(grids(rerun, Rows::All).iter().map(|(heading, grid)| {
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

/// The grid of the terminal as a table of the page.
fn table(grid: &Grid) -> Table {
    let columns = || std::iter::once(&grid.names).chain(&grid.columns);
    let head = |column: &Column| {
        let parts = [&column.group, &column.name, &column.unit].map(String::as_str);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let words = |cell: &Cell| {
        let pieces = cell.iter().map(|piece| piece.text.trim());
        pieces.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let mut table = Table::new(columns().map(head));
    for at in 0..grid.names.cells.len() {
        table.add(
            columns()
                .map(|column| Datum::from(column.cells.get(at).map_or_else(String::new, words)))
                .collect(),
        );
    }
    table
}
