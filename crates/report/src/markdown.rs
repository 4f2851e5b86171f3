//! Tables of a document as GitHub Markdown, for issues.

use crate::pipe_table::{escape, pipes};
use crate::{columns, headline, notes, replication, sections};
use std::fmt::Write as _;
use tare_record::Document;

/// Formats the document as GitHub Markdown: the content of [`crate::table()`], with pipe tables.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let mut out = format!("**{}**\n", escape(&headline::headline(document)));
    if document.cells.is_empty() {
        out.push_str("\nNothing was measured.\n");
    }
    for sheet in sections::titled_tables(document, columns::grid) {
        out.push('\n');
        if !sheet.heading.is_empty() {
            let _ = writeln!(out, "#### {}\n", escape(&sheet.heading));
        }
        out.push_str(&pipes(&sheet.grid));
    }
    if let Some(rerun) = &document.rerun {
        out.push_str(&replication::markdown(rerun));
    }
    for paragraphs in [notes::legend(document), notes::remarks(document)] {
        if !paragraphs.is_empty() {
            out.push('\n');
        }
        for paragraph in paragraphs {
            let _ = writeln!(out, "- {}", escape(&paragraph));
        }
    }
    out
}
