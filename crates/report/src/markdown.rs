//! Tables of a document as GitHub Markdown, for issues.

use crate::answer::{Sentence, ShapeAnswer, Span, answers};
use crate::notes::{self, NoteExtent};
use crate::pipe_table::{escape, pipes};
use crate::sections::TitledTable;
use crate::{columns, headline, replication, sections};
use std::fmt::Write as _;
use tare_record::Document;

/// Formats the document as GitHub Markdown: the content of [`crate::table()`], with pipe tables and all notes.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let mut out = format!("**{}**\n", escape(&headline::headline(document)));
    if document.cells.is_empty() {
        out.push_str("\nNothing was measured.\n");
    }
    let answers = answers(document);
    for sheet in sections::titled_tables(document, columns::grid) {
        let answer = answers.iter().find(|answer| sheet.first_of == Some(answer.shape));
        write_opening(&mut out, &sheet, answer);
        out.push_str(&pipes(&sheet.grid));
    }
    if let Some(rerun) = &document.rerun {
        out.push_str(&replication::markdown(rerun));
    }
    let extent = NoteExtent::All;
    for paragraphs in [notes::legend(document, extent), notes::remarks(document, extent)] {
        if !paragraphs.is_empty() {
            out.push('\n');
        }
        for paragraph in paragraphs {
            let _ = writeln!(out, "- {}", escape(&paragraph));
        }
    }
    out
}

/// Writes what stands above a table: its heading, and the answer for its shape if it is the first of the shape.
fn write_opening(out: &mut String, sheet: &TitledTable<'_>, answer: Option<&ShapeAnswer<'_>>) {
    out.push('\n');
    let mut said = "";
    if let Some(answer) = answer.filter(|answer| !answer.sentences.is_empty()) {
        if !answer.heading.is_empty() {
            let _ = writeln!(out, "#### {}\n", escape(&answer.heading));
        }
        for sentence in &answer.sentences {
            let _ = writeln!(out, "- {}", marked_up(sentence));
        }
        out.push('\n');
        said = &answer.heading;
    }
    if !sheet.heading.is_empty() && sheet.heading != said {
        let _ = writeln!(out, "#### {}\n", escape(&sheet.heading));
    }
}

/// Formats a sentence, with names as code.
pub(crate) fn marked_up(sentence: &Sentence) -> String {
    let part = |span: &Span| match span {
        Span::Name(name) => format!("`{}`", name.replace('`', "")),
        Span::Words(words) => escape(words),
    };
    sentence.spans().iter().map(part).collect()
}
