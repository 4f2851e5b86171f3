//! The same tables as GitHub Markdown, to paste into an issue.

use crate::grid::{Cell, Column, Grid};
use crate::{columns, headline, notes, rerun, sections};
use std::fmt::Write as _;
use tare_record::Document;

/// The document as GitHub Markdown: what [`crate::table()`] says, with its tables as pipe tables.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let mut out = format!("**{}**\n", escape(&headline::headline(document)));
    if document.cells.is_empty() {
        out.push_str("\nNothing was measured.\n");
    }
    for sheet in sections::sheets(document, columns::grid) {
        out.push('\n');
        if !sheet.heading.is_empty() {
            let _ = writeln!(out, "#### {}\n", escape(&sheet.heading));
        }
        out.push_str(&pipes(&sheet.grid));
    }
    if let Some(rerun) = &document.rerun {
        out.push_str(&rerun::markdown(rerun));
    }
    for paragraphs in [notes::reading(document), notes::remarks(document)] {
        if !paragraphs.is_empty() {
            out.push('\n');
        }
        for paragraph in paragraphs {
            let _ = writeln!(out, "- {}", escape(&paragraph));
        }
    }
    out
}

/// A grid as a pipe table: the names to the left, figures to the right.
pub(crate) fn pipes(grid: &Grid) -> String {
    let columns = || std::iter::once(&grid.names).chain(&grid.columns);
    let mut out = row(columns().map(heading));
    out.push_str(&row(
        std::iter::once("---".to_owned()).chain(grid.columns.iter().map(|_| "---:".to_owned()))
    ));
    for at in 0..grid.names.cells.len() {
        out.push_str(&row(
            columns().map(|column| column.cells.get(at).map_or_else(String::new, cell))
        ));
    }
    out
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let mut line = String::from("|");
    for cell in cells {
        let _ = write!(line, " {cell} |");
    }
    line.push('\n');
    line
}

/// Group, name and unit, one under the other.
fn heading(column: &Column) -> String {
    let parts = [&column.group, &column.name, &column.unit];
    let parts: Vec<String> =
        parts.into_iter().filter(|part| !part.is_empty()).map(|part| escape(part)).collect();
    parts.join("<br>")
}

/// The figure, and what is said of it below.
fn cell(pieces: &Cell) -> String {
    let words: Vec<String> = pieces
        .iter()
        .map(|piece| escape(&piece.text.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    let (figure, rest) =
        words.split_first().map_or((String::new(), String::new()), |(first, rest)| {
            (first.clone(), rest.join(" ").trim().to_owned())
        });
    if rest.is_empty() { figure } else { format!("{figure}<br>{rest}") }
}

/// The text with all that Markdown or HTML would obey made literal.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '`' | '\\' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}
