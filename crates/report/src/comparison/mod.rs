//! Output of a [`Comparison`](tare_record::Comparison) for people and build servers.

mod junit;
mod notes;
mod rows;

use crate::pipe_table::{escape, pipes};
use crate::style::{Style, Tone};
use crate::text;
use std::fmt::Write as _;
use tare_record::Comparison;

pub use junit::junit;

/// Formats a comparison for a terminal: the two sides, a row for each cell, other differences, and the cells that
/// cannot be compared.
#[must_use]
pub fn comparison_table(comparison: &Comparison, style: &Style) -> String {
    let width = usize::from(style.width);
    let mut out = format!("{}\n", text::wrap(&notes::headline(comparison), width));
    if comparison.cells.is_empty() {
        out.push_str("\nThe two sides have no cell in common.\n");
    }
    for section in rows::sections(comparison) {
        out.push('\n');
        if !section.heading.is_empty() {
            let _ = writeln!(out, "{}\n", style.paint(Tone::Strong, &section.heading));
        }
        out.push_str(&section.grid.render(*style));
    }
    let reading = notes::legend(comparison);
    let reading = reading.iter().map(|paragraph| text::wrap(paragraph, width)).collect();
    for lines in [reading, notes::remarks(comparison)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{}", lines.join("\n"));
        }
    }
    out
}

/// Formats a comparison as GitHub Markdown, with the content of [`comparison_table`].
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = format!("**{}**\n", escape(&notes::headline(comparison)));
    if comparison.cells.is_empty() {
        out.push_str("\nThe two sides have no cell in common.\n");
    }
    for section in rows::sections(comparison) {
        out.push('\n');
        if !section.heading.is_empty() {
            let _ = writeln!(out, "#### {}\n", escape(&section.heading));
        }
        out.push_str(&pipes(&section.grid));
    }
    for paragraphs in [notes::legend(comparison), notes::remarks(comparison)] {
        if !paragraphs.is_empty() {
            out.push('\n');
        }
        for paragraph in paragraphs {
            let _ = writeln!(out, "- {}", escape(&paragraph));
        }
    }
    out
}
