//! Grids as pipe tables of GitHub Markdown, and the escaping of texts in them.

use crate::grid::{Grid, GridCell, GridColumn};
use std::fmt::Write as _;

/// Formats a grid as a pipe table, with names aligned left and figures aligned right.
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

/// Joins group, name and unit, one below the other.
fn heading(column: &GridColumn) -> String {
    let parts = [&column.group, &column.name, &column.unit];
    let parts: Vec<String> =
        parts.into_iter().filter(|part| !part.is_empty()).map(|part| escape(part)).collect();
    parts.join("<br>")
}

/// Joins the figure and its other pieces, on a line below.
fn cell(pieces: &GridCell) -> String {
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

/// Escapes everything that Markdown or HTML would interpret.
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
