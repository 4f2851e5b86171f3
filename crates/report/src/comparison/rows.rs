//! Tables of a comparison: one for each shape, with a row for each cell.

use crate::columns::{NOTHING, tone};
use crate::grid::{CellPiece, Grid, GridColumn};
use crate::number;
use crate::shape_facts::SharedFacts;
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{
    CellChange, CellKey, ComparedCell, ComparedSide, Comparison, GateOutcome, Shape, unquoted_value,
};

/// Table of one shape, with its heading.
pub(super) struct ComparisonTable {
    pub(super) heading: String,
    pub(super) grid: Grid,
}

/// Builds the tables, ordered by the first cell of each.
pub(super) fn sections(comparison: &Comparison) -> Vec<ComparisonTable> {
    let mut shapes: Vec<&Shape> = Vec::new();
    for cell in &comparison.cells {
        if !shapes.contains(&&cell.cell.shape) {
            shapes.push(&cell.cell.shape);
        }
    }
    let shared = SharedFacts::find(shapes.iter().copied());
    shapes
        .iter()
        .map(|shape| {
            let cells: Vec<&ComparedCell> =
                comparison.cells.iter().filter(|cell| cell.cell.shape == **shape).collect();
            ComparisonTable {
                heading: shared.differing(shape).join(", "),
                grid: grid(comparison, &cells),
            }
        })
        .collect()
}

fn grid(comparison: &Comparison, cells: &[&ComparedCell]) -> Grid {
    let gated = comparison.gate.is_some();
    let all = || comparison.cells.iter().map(|cell| &cell.cell);
    let names = cells.iter().map(|cell| name(&cell.cell, all));
    let figures = |side: fn(&ComparedCell) -> &Option<ComparedSide>| {
        number::align(&cells.iter().map(|cell| figure(side(cell).as_ref())).collect::<Vec<_>>())
    };
    let plain = |texts: Vec<String>| texts.into_iter().map(|text| (Tone::Plain, text)).collect();
    let mut columns = vec![
        column("base", plain(figures(|cell| &cell.base))),
        column("new", plain(figures(|cell| &cell.new))),
        column("unit", cells.iter().map(|cell| (Tone::Faint, cell.unit.clone())).collect()),
        column("change", cells.iter().map(|cell| shown(cell, change)).collect()),
        column("95 % interval", cells.iter().map(|cell| shown(cell, interval)).collect()),
        column("verdict", cells.iter().map(|cell| verdict(cell)).collect()),
    ];
    if gated {
        columns.push(column("limit", cells.iter().map(|cell| outcome(cell)).collect()));
    }
    Grid { names: column("cell", names.map(|name| (Tone::Strong, name)).collect()), columns }
}

fn column(name: &str, cells: Vec<(Tone, String)>) -> GridColumn {
    GridColumn {
        group: String::new(),
        name: name.to_owned(),
        unit: String::new(),
        cells: cells
            .into_iter()
            .map(|(tone, text)| vec![CellPiece::new(tone, one_line(&text))])
            .collect(),
    }
}

/// Names a cell: network, workload with the parameters that differ among workloads of its name, scope unless it is the
/// aggregate, metric.
pub(super) fn name<'a, I>(key: &CellKey, all: impl Fn() -> I) -> String
where
    I: Iterator<Item = &'a CellKey>,
{
    let mut name = format!("{} {}", key.label, key.workload);
    for (parameter, value) in &key.parameters {
        let mut others = all().filter(|other| other.workload == key.workload);
        if others.any(|other| other.parameters.get(parameter) != Some(value)) {
            name.push_str(&format!(",{parameter}={}", unquoted_value(value)));
        }
    }
    if key.scope != "aggregate" {
        name.push_str(&format!(" {}", key.scope));
    }
    format!("{name} {}", key.metric)
}

fn figure(side: Option<&ComparedSide>) -> String {
    side.map_or_else(|| NOTHING.to_owned(), |side| number::round_with_interval(side.mean, None).0)
}

/// Formats a part of a cell's change. A cell without a change shows [`NOTHING`].
fn shown(cell: &ComparedCell, text: fn(&CellChange) -> String) -> (Tone, String) {
    match &cell.change {
        Some(change) => (change.verdict.map_or(Tone::Plain, tone), text(change)),
        None => (Tone::Faint, NOTHING.to_owned()),
    }
}

fn change(change: &CellChange) -> String {
    let figure = number::ratio(change.value, change.ci95);
    match (change.difference, change.value > 0.0) {
        (false, _) => format!("{figure}×"),
        (true, true) => format!("+{figure}"),
        (true, false) => figure,
    }
}

fn interval(change: &CellChange) -> String {
    let [low, high] = number::round_ends(change.ci95);
    format!("{low} to {high}")
}

fn verdict(cell: &ComparedCell) -> (Tone, String) {
    match cell.change.as_ref().and_then(|change| change.verdict) {
        Some(verdict) => (tone(verdict), verdict.to_string()),
        None => (Tone::Plain, String::new()),
    }
}

fn outcome(cell: &ComparedCell) -> (Tone, String) {
    match cell.outcome {
        Some(GateOutcome::Regression) => (Tone::Bad, GateOutcome::Regression.to_string()),
        Some(GateOutcome::Passed) => (Tone::Good, GateOutcome::Passed.to_string()),
        Some(GateOutcome::CouldNotTell) => (Tone::Mild, GateOutcome::CouldNotTell.to_string()),
        None => (Tone::Faint, "not judged".to_owned()),
    }
}
