//! Published figures, conclusions and protocol of a study's source, with those of this run.

mod comparison;
mod conclusions;
mod printed_unit;
mod protocol;
mod study_page;

use crate::grid::{CellPiece, Grid, GridColumn};
use crate::pipe_table::{escape, pipes};
use crate::style::{Style, Tone};
use crate::text::{one_line, wrap};
pub(crate) use comparison::{FigureComparison, comparisons};
pub(crate) use conclusions::conclusion_grid;
pub(crate) use conclusions::reason;
pub(crate) use protocol::protocol_grid;
use std::fmt::Write as _;
pub(crate) use study_page::machine;
pub use study_page::study_page;
use tare_record::{ProtocolScale, Replication};

/// Formats the comparison for a terminal: the published tables of which something was measured, the conclusions, and
/// what of the protocol is assumed or was run otherwise.
pub(crate) fn table(rerun: &Replication, style: Style) -> String {
    let width = usize::from(style.width);
    let mut out = format!("\n{}\n", wrap(&headline(rerun), width));
    let (measured, absent): (Vec<FigureComparison>, Vec<FigureComparison>) =
        comparisons(rerun).into_iter().partition(|table| table.is_measured);
    for table in measured {
        let heading = style.paint(Tone::Strong, &wrap(&table.heading, width));
        let _ = writeln!(out, "\n{heading}\n{}\n", wrap(&table.caption, width));
        out.push_str(&table.grid.render(style));
        for line in table.footnotes.iter().chain(&table.order) {
            let _ = writeln!(out, "{}", wrap(line, width));
        }
    }
    let mut paragraphs: Vec<String> = absent
        .iter()
        .map(|table| format!("not measured: {}: {}", table.heading, table.footnotes.join("; ")))
        .collect();
    paragraphs.extend(protocol::summary(rerun));
    for lines in [conclusions::lines(rerun), paragraphs] {
        if !lines.is_empty() {
            let lines: Vec<String> = lines.iter().map(|line| wrap_indented(line, width)).collect();
            let _ = writeln!(out, "\n{}", lines.join("\n"));
        }
    }
    out
}

/// Wraps a line at this width. The blanks before its first word stay.
fn wrap_indented(line: &str, width: usize) -> String {
    let indent = &line[..line.len() - line.trim_start().len()];
    let wrapped = wrap(&one_line(line), width.saturating_sub(indent.len()));
    wrapped.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

/// Formats the same as GitHub Markdown, with every published figure and the whole protocol.
pub(crate) fn markdown(rerun: &Replication) -> String {
    let mut out = format!("\n{}\n", escape(&headline(rerun)));
    out.push_str(&markdown_figures(rerun));
    for grid in [conclusion_grid(rerun), protocol_grid(rerun)].into_iter().flatten() {
        let _ = write!(out, "\n{}", pipes(&grid));
    }
    out
}

/// Formats the published tables, each with its caption above and its remarks below.
fn markdown_figures(rerun: &Replication) -> String {
    let mut out = String::new();
    for table in comparisons(rerun) {
        let _ = writeln!(out, "\n#### {}\n", escape(&table.heading));
        let _ = writeln!(out, "{}\n\n{}", escape(&table.caption), pipes(&table.grid));
        for line in table.footnotes.iter().chain(&table.order) {
            let _ = writeln!(out, "- {}", escape(line));
        }
    }
    out
}

/// Returns the question that the run answers, or says how closely it kept to the protocol of its source.
pub(crate) fn headline(rerun: &Replication) -> String {
    if let Some(question) = &rerun.question {
        return question.asked.clone();
    }
    let is_changed = rerun.protocol.iter().any(|entry| entry.differs);
    let scale = match rerun.scale {
        ProtocolScale::Scaled => "scaled: shorter than published",
        ProtocolScale::AsPublished if is_changed => "in part not as published, see below",
        ProtocolScale::AsPublished => "durations and repetitions as published or assumed",
    };
    format!(
        "Published and measured figures: a re-run of the protocol ({scale}), not a reproduction: the original kernels, engines and machines are not available."
    )
}

/// Makes a column of plain texts.
fn column(group: &str, name: &str, cells: Vec<String>, tone: Tone) -> GridColumn {
    GridColumn {
        group: group.to_owned(),
        name: name.to_owned(),
        unit: String::new(),
        cells: cells.into_iter().map(|text| vec![CellPiece::new(tone, text)]).collect(),
    }
}

/// Makes a table of texts. Columns without any text are left out.
fn text_grid<const COLUMNS: usize>(
    heads: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> Option<Grid> {
    let mut columns = heads.iter().enumerate().map(|(at, head)| {
        column("", head, rows.iter().map(|row| one_line(&row[at])).collect(), Tone::Plain)
    });
    let names = columns.next().filter(|_| !rows.is_empty())?;
    let has_text = |column: &GridColumn| (0..rows.len()).any(|row| column.has_text(row));
    Some(Grid { names, columns: columns.filter(has_text).collect() })
}
