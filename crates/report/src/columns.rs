//! A section's cells as a table: a row a network, fastest first, and a column a metric.

use crate::grid::{self, Column, Grid, Piece};
use crate::number;
use crate::style::Tone;
use crate::text::one_line;
use std::cmp::Ordering;
use tare_record::{Better, Cell, Metric, Verdict};

/// Stands where there is no figure.
pub(crate) const NOTHING: &str = "–";

/// Marks the best of a column and all that could not be told from it.
pub(crate) const BEST: &str = "*";

/// The width of a bar, columns.
const BAR_WIDTH: usize = 10;

/// Eighths of a column, the least first.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The table of a section, with a bar in each field: as long as the figure is large beside the largest of its column.
pub(crate) fn grid_with_bars(cells: &[&Cell]) -> Grid {
    let mut grid = grid(cells);
    let rows = rows(cells);
    for (column, kind) in grid.columns.iter_mut().zip(kinds(cells)) {
        let mean = |row: &&Cell| find(cells, kind, &row.label).and_then(|cell| cell.mean);
        let most = rows.iter().filter_map(mean).fold(0.0, f64::max);
        for (pieces, row) in column.cells.iter_mut().zip(&rows) {
            let share = mean(row).filter(|_| most > 0.0).map_or(0.0, |mean| mean / most);
            pieces.push(Piece::new(Tone::Faint, bar(share)));
        }
    }
    grid
}

/// A bar of this share of the whole width; the least that is not nought is seen.
fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR_WIDTH * EIGHTHS.len()) as f64).ceil() as usize;
    let (whole, rest) = (eighths / EIGHTHS.len(), eighths % EIGHTHS.len());
    let end = rest.checked_sub(1).map(|at| EIGHTHS[at]);
    std::iter::repeat_n('█', whole).chain(end).collect()
}

/// The table of a section.
pub(crate) fn grid(cells: &[&Cell]) -> Grid {
    let rows = rows(cells);
    let names = rows.iter().map(|cell| vec![Piece::new(Tone::Strong, name(cell))]).collect();
    Grid {
        names: Column {
            group: String::new(),
            name: "network".to_owned(),
            unit: String::new(),
            cells: names,
        },
        columns: kinds(cells).into_iter().map(|kind| column(kind, cells, &rows)).collect(),
    }
}

/// The label of the network that a column's ratios are against.
pub(crate) fn baseline(cell: &Cell) -> Option<&str> {
    let ratio = cell.ratio.as_ref().map(|ratio| ratio.baseline.as_str());
    ratio.or_else(|| cell.difference.as_ref().map(|difference| difference.baseline.as_str()))
}

/// What a column is of.
type Kind<'a> = (&'a str, Metric);

fn kind(cell: &Cell) -> Kind<'_> {
    (&cell.workload, cell.metric)
}

fn kinds<'a>(cells: &[&'a Cell]) -> Vec<Kind<'a>> {
    let mut kinds = Vec::new();
    for cell in cells {
        if !kinds.contains(&kind(cell)) {
            kinds.push(kind(cell));
        }
    }
    kinds
}

/// One cell of each network, fastest first by the first metric; networks without that figure come last.
fn rows<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    let mut rows: Vec<&Cell> = Vec::new();
    for cell in cells {
        if !rows.iter().any(|row| row.label == cell.label) {
            rows.push(cell);
        }
    }
    if let Some(first) = cells.first() {
        let figure = |row: &Cell| find(cells, kind(first), &row.label).and_then(|cell| cell.mean);
        rows.sort_by(|a, b| by_figure(figure(a), figure(b), first.better));
    }
    rows
}

fn by_figure(a: Option<f64>, b: Option<f64>, better: Better) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if better == Better::Higher => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The label, and the network where it is called otherwise.
pub(crate) fn name(cell: &Cell) -> String {
    if cell.label == cell.network {
        one_line(&cell.label)
    } else {
        one_line(&format!("{} ({})", cell.label, cell.network))
    }
}

fn find<'a>(cells: &[&'a Cell], wanted: Kind<'_>, label: &str) -> Option<&'a Cell> {
    cells.iter().find(|cell| cell.label == label && kind(cell) == wanted).copied()
}

fn column(kind: Kind<'_>, cells: &[&Cell], rows: &[&Cell]) -> Column {
    let (workload, metric) = kind;
    let column: Vec<Option<&Cell>> = rows.iter().map(|row| find(cells, kind, &row.label)).collect();
    let unit = column.iter().flatten().next().map_or("", |cell| cell.unit.as_str());
    let baseline = column.iter().flatten().find_map(|cell| baseline(cell));
    let ratios = number::align(&column.iter().map(|cell| ratio(*cell)).collect::<Vec<_>>());
    let cells = column
        .iter()
        .zip(values(&column))
        .zip(ratios)
        .map(|((cell, value), ratio)| pieces(*cell, value, ratio, baseline))
        .collect();
    Column { group: one_line(workload), name: metric.to_string(), unit: one_line(unit), cells }
}

/// The figures of a column with their half widths and marks, equally wide and aligned.
fn values(column: &[Option<&Cell>]) -> Vec<String> {
    let measured: Vec<(String, Option<String>)> = column.iter().map(|cell| figure(*cell)).collect();
    let means: Vec<String> = measured.iter().map(|(mean, _)| mean.clone()).collect();
    let halves: Vec<String> =
        measured.iter().map(|(_, half)| half.clone().unwrap_or_default()).collect();
    let marked = |cell: &Option<&Cell>| cell.is_some_and(|cell| cell.best);
    number::align(&means)
        .into_iter()
        .zip(number::align(&halves))
        .zip(column)
        .map(|((mean, half), cell)| {
            let sign = if half.trim().is_empty() { ' ' } else { '±' };
            let mark = if marked(cell) { BEST } else { " " };
            format!("{mean} {sign} {half} {mark}")
        })
        .collect()
}

fn figure(cell: Option<&Cell>) -> (String, Option<String>) {
    match cell.and_then(|cell| cell.mean.map(|mean| (mean, cell.ci95))) {
        Some((mean, interval)) => number::measured(mean, interval),
        None => (NOTHING.to_owned(), None),
    }
}

/// The ratio to the baseline, or the difference where a ratio has no meaning; nothing where there is neither.
fn ratio(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else {
        return String::new();
    };
    if let Some(ratio) = &cell.ratio {
        return format!("{}×", number::ratio(ratio.value, ratio.ci95));
    }
    cell.difference.as_ref().map_or_else(String::new, |difference| {
        let sign = if difference.value > 0.0 { "+" } else { "" };
        format!("{sign}{}", number::ratio(difference.value, difference.ci95))
    })
}

/// The pieces of a field, of which there are none where the network was not to be measured.
fn pieces(cell: Option<&Cell>, value: String, ratio: String, baseline: Option<&str>) -> grid::Cell {
    let Some(cell) = cell else {
        return grid::Cell::new();
    };
    let (tone, word) = verdict(cell, baseline);
    vec![Piece::new(Tone::Plain, value), Piece::new(tone, ratio), Piece::new(tone, word)]
}

/// What is said of a figure beside the baseline.
fn verdict(cell: &Cell, baseline: Option<&str>) -> (Tone, String) {
    if let Some(ratio) = &cell.ratio {
        return (tone(ratio.verdict), ratio.verdict.to_string());
    }
    match baseline {
        Some(label) if label == cell.label => (Tone::Faint, "baseline".to_owned()),
        Some(_) if cell.mean.is_some() && cell.difference.is_none() => {
            (Tone::Faint, "no ratio".to_owned())
        }
        _ => (Tone::Plain, String::new()),
    }
}

/// The colour of a verdict.
pub(crate) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster | Verdict::FasterSlightly => Tone::Good,
        Verdict::Same => Tone::Plain,
        Verdict::SlowerSlightly => Tone::Mild,
        Verdict::Slower => Tone::Bad,
        Verdict::Unclear => Tone::Faint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_shares() {
        let of = |share| bar(share);
        assert_eq!([of(1.0), of(0.5), of(0.0)], ["██████████", "█████", ""]);
        assert_eq!([of(0.001), of(0.26)], ["▏", "██▋"]);
    }
}
