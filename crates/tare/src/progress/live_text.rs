//! Text of the live table for a terminal of a given size.
//!
//! Verdicts are words if they fit, else signs with a legend. Networks and workloads that do not fit are left out by
//! pages: the page with what is being measured is shown, with the baseline on every page.

use super::live_table::{CellMark, LiveCell, LiveColumn, LiveTable};
use super::styled_line::{Emphasis, StyledLine};
use std::ops::Range;
use tare_record::Verdict;
use unicode_width::UnicodeWidthStr as _;

/// Size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalSize {
    /// Width, columns.
    pub(super) columns: usize,
    /// Height, rows.
    pub(super) rows: usize,
}

/// Mark of the networks and the workload being measured.
const MARK: &str = "▶ ";
/// Mark of the networks that are decided, and no longer measured.
const DECIDED: &str = "✓ ";
/// Largest width of a network's name, columns.
const LONGEST_NAME: usize = 24;
/// Smallest width of a column.
const NARROWEST: usize = 14;
/// Largest width that a column has for its heading alone.
const HEADING: usize = 22;
/// Number of blanks between columns.
const GAP: usize = 3;
/// Number of lines above and below the networks.
const OTHER_LINES: usize = 6;

/// Legend of the signs of verdicts.
const LEGEND: &str = "▲ faster ▼ slower △ ▽ by less than the margin = same ? unclear";

/// Returns the lines of the table, with the title above and the keys below. No line is as wide as the terminal, and
/// there are fewer lines than it has rows, so that drawing them never scrolls it by more than their number.
pub(super) fn live_text(
    table: &mut LiveTable,
    title: &str,
    keys: &str,
    size: TerminalSize,
) -> Vec<StyledLine> {
    let names: Vec<String> =
        table.plan().networks.iter().map(|entry| entry.label.clone()).collect();
    let columns = table.columns().to_vec();
    let longest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let name_width = longest.clamp("network".len(), LONGEST_NAME);
    let available = size.columns.saturating_sub(1 + MARK.width() + name_width);
    let layout = ColumnLayout::choose(&columns, table.workload(), available);
    let page = RowPage::choose(table, size.rows.saturating_sub(OTHER_LINES + 1));
    let mut lines = vec![
        StyledLine::new(Emphasis::Strong, title),
        StyledLine::new(Emphasis::Faint, table.last_trial()),
    ];
    lines.extend(headings(&columns[layout.shown.clone()], table, &layout, name_width));
    for &row in &page.rows {
        let is_measured = table.measured().contains(&row);
        let mut line = StyledLine::default();
        let mark = match is_measured {
            true => MARK,
            false if table.is_decided(row) => DECIDED,
            false => "  ",
        };
        line.push(Emphasis::Strong, mark);
        let emphasis = if is_measured { Emphasis::Strong } else { Emphasis::Plain };
        line.push_field(emphasis, &names[row], name_width);
        for (column, width) in columns[layout.shown.clone()].iter().zip(&layout.widths) {
            line.push(Emphasis::Plain, &" ".repeat(GAP));
            push_cell(&mut line, &column.cells[row], layout.notation, *width);
        }
        lines.push(line);
    }
    let left_out = left_out(page.left_out, columns.len() - layout.shown.len());
    lines.push(StyledLine::new(Emphasis::Faint, &left_out));
    lines.extend(footer(layout.notation, keys));
    lines.truncate(size.rows.saturating_sub(1).max(1));
    lines.iter_mut().for_each(|line| line.cut_to(size.columns.saturating_sub(1)));
    lines
}

/// Notation of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// Words after the figures.
    Words,
    /// Signs before the figures.
    Signs,
}

/// Columns that fit.
struct ColumnLayout {
    notation: Notation,
    shown: Range<usize>,
    /// Width of each column that is shown.
    widths: Vec<usize>,
}

impl ColumnLayout {
    /// Chooses words if all columns fit with them, else signs, and of the columns those that fit.
    fn choose(columns: &[LiveColumn], workload: Option<usize>, available: usize) -> Self {
        let all = 0..columns.len();
        for notation in [Notation::Words, Notation::Signs] {
            let widths = column_widths(columns, notation);
            if widths.iter().map(|width| width + GAP).sum::<usize>() <= available {
                return Self { notation, shown: all, widths };
            }
        }
        let widths = column_widths(columns, Notation::Signs);
        let widest = widths.iter().max().map_or(1, |width| width + GAP);
        let together = (available / widest).max(1);
        let at = columns.iter().position(|column| Some(column.workload) == workload);
        let first = at.unwrap_or(0) / together * together;
        let shown = first..(first + together).min(columns.len());
        Self { notation: Notation::Signs, widths: widths[shown.clone()].to_vec(), shown }
    }
}

fn column_widths(columns: &[LiveColumn], notation: Notation) -> Vec<usize> {
    let width = |column: &LiveColumn| {
        let cells = column.cells.iter().map(|cell| cell_text(cell, notation).1.width());
        let heading = (column.title.width() + MARK.width()).max(column.metric.width());
        cells.max().unwrap_or(0).max(heading.clamp(NARROWEST, HEADING))
    };
    columns.iter().map(width).collect()
}

/// Networks that are shown.
struct RowPage {
    /// Indices of the networks.
    rows: Vec<usize>,
    left_out: usize,
}

impl RowPage {
    /// Chooses the page of the first network that is being measured, of at most this many rows.
    fn choose(table: &LiveTable, most: usize) -> Self {
        let count = table.plan().networks.len();
        if count <= most {
            return Self { rows: (0..count).collect(), left_out: 0 };
        }
        let baseline = table.baseline();
        let others: Vec<usize> = (0..count).filter(|row| Some(*row) != baseline).collect();
        let together = most.saturating_sub(usize::from(baseline.is_some())).max(1);
        let measured = others.iter().position(|row| table.measured().contains(row));
        let first = measured.unwrap_or(0) / together * together;
        let page = others[first..(first + together).min(others.len())].iter().copied();
        let rows: Vec<usize> = baseline.into_iter().chain(page).collect();
        Self { left_out: count - rows.len(), rows }
    }
}

fn headings(
    columns: &[LiveColumn],
    table: &LiveTable,
    layout: &ColumnLayout,
    name_width: usize,
) -> [StyledLine; 2] {
    let mut titles = StyledLine::default();
    titles.push_field(Emphasis::Plain, "", MARK.width() + name_width);
    let mut metrics = StyledLine::new(Emphasis::Plain, "  ");
    metrics.push_field(Emphasis::Faint, "network", name_width);
    for (column, width) in columns.iter().zip(&layout.widths) {
        let is_measured = table.workload() == Some(column.workload);
        let mark = if is_measured { MARK } else { "" };
        titles.push(Emphasis::Plain, &" ".repeat(GAP));
        titles.push_field(Emphasis::Strong, &format!("{mark}{}", column.title), *width);
        metrics.push(Emphasis::Plain, &" ".repeat(GAP));
        metrics.push_field(Emphasis::Faint, &column.metric, *width);
    }
    [titles, metrics]
}

/// Describes what does not fit. Empty if everything does.
fn left_out(networks: usize, workloads: usize) -> String {
    let counted = |count, noun| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{count} {noun}s")),
    };
    let parts: Vec<String> = [counted(networks, "network"), counted(workloads, "workload")]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() { String::new() } else { format!("  and {}", parts.join(", ")) }
}

fn footer(notation: Notation, keys: &str) -> Vec<StyledLine> {
    let legend = (notation == Notation::Signs).then_some(LEGEND);
    let keys = (!keys.is_empty()).then_some(keys);
    legend.into_iter().chain(keys).map(|text| StyledLine::new(Emphasis::Faint, text)).collect()
}

fn push_cell(line: &mut StyledLine, cell: &LiveCell, notation: Notation, width: usize) {
    let (emphasis, text) = cell_text(cell, notation);
    line.push_field(emphasis, &text, width);
}

/// Returns the text of a cell.
fn cell_text(cell: &LiveCell, notation: Notation) -> (Emphasis, String) {
    match cell {
        LiveCell::Unplanned => (Emphasis::Plain, String::new()),
        LiveCell::Pending => (Emphasis::Faint, indent(notation, "…")),
        LiveCell::Failed => (Emphasis::Bad, indent(notation, "failed")),
        LiveCell::Figure(figure, None) => (Emphasis::Plain, indent(notation, figure)),
        LiveCell::Figure(figure, Some(CellMark::Baseline)) => match notation {
            Notation::Words => (Emphasis::Plain, format!("{figure} baseline")),
            Notation::Signs => (Emphasis::Plain, indent(notation, figure)),
        },
        LiveCell::Figure(figure, Some(CellMark::Verdict(verdict))) => {
            let text = match notation {
                Notation::Words => format!("{figure} {verdict}"),
                Notation::Signs => format!("{} {figure}", sign(*verdict)),
            };
            (emphasis(*verdict), text)
        }
    }
}

/// Indents a text without a verdict as far as those with a sign.
fn indent(notation: Notation, text: &str) -> String {
    match notation {
        Notation::Words => text.to_owned(),
        Notation::Signs => format!("  {text}"),
    }
}

fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Faster => '▲',
        Verdict::FasterSlightly => '△',
        Verdict::Same => '=',
        Verdict::SlowerSlightly => '▽',
        Verdict::Slower => '▼',
        Verdict::Unclear => '?',
    }
}

fn emphasis(verdict: Verdict) -> Emphasis {
    match verdict {
        Verdict::Faster | Verdict::FasterSlightly => Emphasis::Good,
        Verdict::Same => Emphasis::Plain,
        Verdict::SlowerSlightly => Emphasis::Mild,
        Verdict::Slower => Emphasis::Bad,
        Verdict::Unclear => Emphasis::Faint,
    }
}

#[cfg(test)]
mod tests;
