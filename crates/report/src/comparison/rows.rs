//! The cells of a comparison as tables: one for each shape, a row for each cell.

use crate::columns::{NOTHING, tone};
use crate::grid::{Column, Grid, Piece};
use crate::number;
use crate::sections::telling_facts;
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{CellKey, Change, ComparedCell, Comparison, Outcome, Shape, Side, bare};

/// One shape's table.
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) grid: Grid,
}

/// The tables, in the order in which their first cells come.
pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    let mut shapes: Vec<&Shape> = Vec::new();
    for cell in &comparison.cells {
        if !shapes.contains(&&cell.cell.shape) {
            shapes.push(&cell.cell.shape);
        }
    }
    shapes
        .iter()
        .map(|shape| {
            let cells: Vec<&ComparedCell> =
                comparison.cells.iter().filter(|cell| cell.cell.shape == **shape).collect();
            Section {
                heading: telling_facts(shape, || shapes.iter().copied()).join(", "),
                grid: grid(comparison, &cells),
            }
        })
        .collect()
}

fn grid(comparison: &Comparison, cells: &[&ComparedCell]) -> Grid {
    let gated = comparison.gate.is_some();
    let all = || comparison.cells.iter().map(|cell| &cell.cell);
    let names = cells.iter().map(|cell| name(&cell.cell, all));
    let figures = |side: fn(&ComparedCell) -> &Option<Side>| {
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

fn column(name: &str, cells: Vec<(Tone, String)>) -> Column {
    Column {
        group: String::new(),
        name: name.to_owned(),
        unit: String::new(),
        cells: cells
            .into_iter()
            .map(|(tone, text)| vec![Piece::new(tone, one_line(&text))])
            .collect(),
    }
}

/// Network, workload with what tells it from others of its name, scope where it is not all, metric.
pub(super) fn name<'a, I>(key: &CellKey, all: impl Fn() -> I) -> String
where
    I: Iterator<Item = &'a CellKey>,
{
    let mut name = format!("{} {}", key.label, key.workload);
    for (parameter, value) in &key.parameters {
        let mut others = all().filter(|other| other.workload == key.workload);
        if others.any(|other| other.parameters.get(parameter) != Some(value)) {
            name.push_str(&format!(",{parameter}={}", bare(value)));
        }
    }
    if key.scope != "aggregate" {
        name.push_str(&format!(" {}", key.scope));
    }
    format!("{name} {}", key.metric)
}

fn figure(side: Option<&Side>) -> String {
    side.map_or_else(|| NOTHING.to_owned(), |side| number::measured(side.mean, None).0)
}

/// Something of a cell's change, or the sign for nothing.
fn shown(cell: &ComparedCell, text: fn(&Change) -> String) -> (Tone, String) {
    match &cell.change {
        Some(change) => (change.verdict.map_or(Tone::Plain, tone), text(change)),
        None => (Tone::Faint, NOTHING.to_owned()),
    }
}

fn change(change: &Change) -> String {
    let figure = number::ratio(change.value, change.ci95);
    match (change.difference, change.value > 0.0) {
        (false, _) => format!("{figure}×"),
        (true, true) => format!("+{figure}"),
        (true, false) => figure,
    }
}

fn interval(change: &Change) -> String {
    let [low, high] = number::ends(change.ci95);
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
        Some(Outcome::Regression) => (Tone::Bad, Outcome::Regression.to_string()),
        Some(Outcome::Passed) => (Tone::Good, Outcome::Passed.to_string()),
        Some(Outcome::CouldNotTell) => (Tone::Mild, Outcome::CouldNotTell.to_string()),
        None => (Tone::Faint, "not judged".to_owned()),
    }
}
