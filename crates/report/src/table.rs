//! Text tables that `tare run` prints.

use crate::style::{Style, Tone};
use crate::{columns, headline, notes, replication, sections, text};
use std::fmt::Write as _;
use tare_record::Document;

/// Formats the document for a terminal: a line on the run, a table for each shape, an explanation of the tables, and
/// findings, skipped networks and failures.
///
/// Tables keep to the style's width: if they would be wider, cells are stacked or columns are continued below. Each
/// finding, skipped network and failure takes one line, however long.
#[must_use]
pub fn table(document: &Document, style: &Style) -> String {
    let width = usize::from(style.width);
    let mut out = format!("{}\n", text::wrap(&headline::headline(document), width));
    if document.cells.is_empty() {
        out.push_str("\nNothing was measured.\n");
    }
    for sheet in sections::titled_tables(document, columns::grid_with_bars) {
        out.push('\n');
        if !sheet.heading.is_empty() {
            let heading = text::wrap(&text::one_line(&sheet.heading), width);
            let _ = writeln!(out, "{}\n", style.paint(Tone::Strong, &heading));
        }
        out.push_str(&sheet.grid.render(*style));
    }
    if let Some(rerun) = &document.rerun {
        out.push_str(&replication::table(rerun, *style));
    }
    let reading = notes::legend(document);
    let reading = reading.iter().map(|paragraph| text::wrap(paragraph, width)).collect();
    // Remarks stay on one line each: their remedies are commands to be copied.
    for lines in [reading, notes::remarks(document)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{}", lines.join("\n"));
        }
    }
    out
}
