//! Table of a section's cells: a row for each network, fastest first, and a column for each metric.

use crate::grid::{self, CellPiece, Grid, GridColumn};
use crate::number;
use crate::style::Tone;
use crate::text::one_line;
use std::cmp::Ordering;
use tare_record::finding::ProgramStandIn;
use tare_record::{Better, Cell, Finding, Metric, Verdict};

/// Text for a missing figure.
pub(crate) const NOTHING: &str = "–";

/// Mark of the best network of a column and of all that cannot be distinguished from it.
pub(crate) const BEST: &str = "*";

/// Width of a bar, columns.
const BAR_WIDTH: usize = 10;

/// Block characters of one to eight eighths of a column.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Builds the table of a section, with a bar in each cell. The length of a bar is the share of the column's largest
/// figure.
pub(crate) fn grid_with_bars(cells: &[&Cell]) -> Grid {
    let mut grid = grid(cells);
    let rows = rows(cells);
    for (column, kind) in grid.columns.iter_mut().zip(kinds(cells)) {
        let mean = |row: &&Cell| find(cells, kind, &row.label).and_then(|cell| cell.mean);
        let most = rows.iter().filter_map(mean).fold(0.0, f64::max);
        for (pieces, row) in column.cells.iter_mut().zip(&rows) {
            let share = mean(row).filter(|_| most > 0.0).map_or(0.0, |mean| mean / most);
            pieces.push(CellPiece::new(Tone::Faint, bar(share)));
        }
    }
    grid
}

/// Draws a bar of this share of the full width. Rounded up, so that every share above 0 is visible.
fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR_WIDTH * EIGHTHS.len()) as f64).ceil() as usize;
    let (whole, rest) = (eighths / EIGHTHS.len(), eighths % EIGHTHS.len());
    let end = rest.checked_sub(1).map(|at| EIGHTHS[at]);
    std::iter::repeat_n('█', whole).chain(end).collect()
}

/// Builds the table of a section.
pub(crate) fn grid(cells: &[&Cell]) -> Grid {
    let rows = rows(cells);
    let names = rows.iter().map(|cell| vec![CellPiece::new(Tone::Strong, name(cell))]).collect();
    Grid {
        names: GridColumn {
            group: String::new(),
            name: "network".to_owned(),
            unit: String::new(),
            cells: names,
        },
        columns: kinds(cells).into_iter().map(|kind| column(kind, cells, &rows)).collect(),
    }
}

/// Returns the label of the baseline of a cell's ratio or difference.
pub(crate) fn baseline(cell: &Cell) -> Option<&str> {
    let ratio = cell.ratio.as_ref().map(|ratio| ratio.baseline.as_str());
    ratio.or_else(|| cell.difference.as_ref().map(|difference| difference.baseline.as_str()))
}

/// Workload and metric of a column.
type WorkloadMetric<'a> = (&'a str, Metric);

fn kind(cell: &Cell) -> WorkloadMetric<'_> {
    (&cell.workload, cell.metric)
}

fn kinds<'a>(cells: &[&'a Cell]) -> Vec<WorkloadMetric<'a>> {
    let mut kinds = Vec::new();
    for cell in cells {
        if !kinds.contains(&kind(cell)) {
            kinds.push(kind(cell));
        }
    }
    kinds
}

/// Returns one cell of each network, fastest first by the first metric. Networks without that figure come last.
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

/// Returns the label, followed by the network's name if that differs, and by the stand-in that carried its packets.
pub(crate) fn name(cell: &Cell) -> String {
    let network = (cell.label != cell.network).then_some(cell.network.as_str());
    let about = match (network, stand_in(cell)) {
        (None, None) => return one_line(&cell.label),
        (Some(network), None) => network.to_owned(),
        (None, Some(program)) => format!("by {program}"),
        (Some(network), Some(program)) => format!("{network} by {program}"),
    };
    one_line(&format!("{} ({about})", cell.label))
}

/// Returns the stand-in that carried the packets in the place of the network's own program.
fn stand_in(cell: &Cell) -> Option<&str> {
    cell.findings.iter().find_map(|finding| match finding {
        Finding::ProgramStandIn(ProgramStandIn { used, .. }) => Some(used.as_str()),
        _ => None,
    })
}

fn find<'a>(cells: &[&'a Cell], wanted: WorkloadMetric<'_>, label: &str) -> Option<&'a Cell> {
    cells.iter().find(|cell| cell.label == label && kind(cell) == wanted).copied()
}

fn column(kind: WorkloadMetric<'_>, cells: &[&Cell], rows: &[&Cell]) -> GridColumn {
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
    GridColumn { group: one_line(workload), name: metric.to_string(), unit: one_line(unit), cells }
}

/// Formats the figures of a column with half widths and marks, equally wide and aligned.
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
    match cell.and_then(|cell| cell.mean.map(|mean| (mean, cell))) {
        Some((mean, cell)) => number::figure(mean, cell.ci95, cell.n),
        None => (NOTHING.to_owned(), None),
    }
}

/// Formats the ratio to the baseline, or the difference where a ratio has no meaning. Empty if there is neither.
pub(crate) fn ratio(cell: Option<&Cell>) -> String {
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

/// Returns the pieces of a cell: figure, ratio and verdict. Empty if the network was not to be measured.
fn pieces(
    cell: Option<&Cell>,
    value: String,
    ratio: String,
    baseline: Option<&str>,
) -> grid::GridCell {
    let Some(cell) = cell else {
        return grid::GridCell::new();
    };
    let (tone, word) = verdict(cell, baseline);
    vec![
        CellPiece::new(Tone::Plain, value),
        CellPiece::new(tone, ratio),
        CellPiece::new(tone, word),
    ]
}

/// Returns the verdict of a cell in words, with its tone.
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

/// Returns the tone of a verdict.
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
