//! Text tables that `tare run` prints.

use crate::answer::{ShapeAnswer, answers};
use crate::notes::{self, NoteExtent};
use crate::sections::TitledTable;
use crate::style::{Style, Tone};
use crate::{columns, headline, replication, sections, text};
use std::fmt::Write as _;
use tare_record::Document;

/// Formats the document for a terminal: a line on the run; for each shape the answer in sentences and a table; an
/// explanation of the tables; and notes on findings, skipped networks and failures.
///
/// Text and tables keep to the style's width: if tables would be wider, cells are stacked or columns are continued
/// below. Each note takes one line, however long.
#[must_use]
pub fn table(document: &Document, style: &Style, extent: NoteExtent<'_>) -> String {
    let width = usize::from(style.width);
    let mut out = format!("{}\n", text::wrap(&headline::headline(document), width));
    if document.cells.is_empty() {
        out.push_str("\nNothing was measured.\n");
    }
    let answers = answers(document);
    for sheet in sections::titled_tables(document, columns::grid_with_bars) {
        let answer = answers.iter().find(|answer| sheet.first_of == Some(answer.shape));
        write_opening(&mut out, &sheet, answer, *style);
        out.push_str(&sheet.grid.render(*style));
    }
    if let Some(rerun) = &document.rerun {
        out.push_str(&replication::table(rerun, *style));
    }
    let reading = notes::legend(document, extent);
    let reading = reading.iter().map(|paragraph| text::wrap(paragraph, width)).collect();
    // Remarks stay on one line each: their remedies are commands to be copied.
    for lines in [reading, notes::remarks(document, extent)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{}", lines.join("\n"));
        }
    }
    out
}

/// Writes what stands above a table: its heading, and the answer for its shape if it is the first of the shape.
fn write_opening(
    out: &mut String,
    sheet: &TitledTable<'_>,
    answer: Option<&ShapeAnswer<'_>>,
    style: Style,
) {
    let mut blocks: Vec<String> = Vec::new();
    let mut said = "";
    let width = usize::from(style.width);
    let heading =
        |words: &str| style.paint(Tone::Strong, &text::wrap(&text::one_line(words), width));
    if let Some(answer) = answer.filter(|answer| !answer.sentences.is_empty()) {
        if !answer.heading.is_empty() {
            blocks.push(heading(&answer.heading));
        }
        let sentences: Vec<String> =
            answer.sentences.iter().map(|one| text::wrap(&one.plain(), width)).collect();
        blocks.push(sentences.join("\n"));
        said = &answer.heading;
    }
    if !sheet.heading.is_empty() && sheet.heading != said {
        blocks.push(heading(&sheet.heading));
    }
    out.push('\n');
    for block in blocks {
        let _ = writeln!(out, "{block}\n");
    }
}
