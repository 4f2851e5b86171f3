//! Curves: what a study swept (clients, servers, processes, flows) from left to right, a row a network.

use crate::columns::{NOTHING, name};
use crate::grid::{Column, Grid, Piece};
use crate::number;
use crate::sections::{Variant, telling_facts, variant};
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{Cell, Document, Metric, Shape};

/// What can be swept.
struct Axis {
    /// Its name.
    name: &'static str,
    /// Its value in a shape.
    of: fn(&Shape) -> u32,
    /// The shape with it set to nothing, by which shapes that differ in nothing else are told.
    without: fn(Shape) -> Shape,
}

const AXES: [Axis; 4] = [
    Axis {
        name: "clients",
        of: |shape| shape.clients,
        without: |shape| Shape { clients: 0, ..shape },
    },
    Axis {
        name: "servers",
        of: |shape| shape.servers,
        without: |shape| Shape { servers: 0, ..shape },
    },
    Axis {
        name: "processes",
        of: |shape| shape.processes,
        without: |shape| Shape { processes: 0, ..shape },
    },
    Axis { name: "flows", of: |shape| shape.flows, without: |shape| Shape { flows: 0, ..shape } },
];

/// What one curve is of.
#[derive(PartialEq)]
struct Kind<'a> {
    rest: Shape,
    workload: &'a str,
    /// The parameters, where the workload stands several times.
    variant: Option<Variant<'a>>,
    metric: Metric,
    unit: &'a str,
}

/// A table of curves.
pub(crate) struct Curves {
    /// What it is of, and by what.
    pub(crate) heading: String,
    /// A column a value of the axis.
    pub(crate) grid: Grid,
}

/// The curves of whatever took more than one value: of the metric that each workload names first, and of fairness.
pub(crate) fn curves(document: &Document) -> Vec<Curves> {
    let shown: Vec<&Cell> = document.cells.iter().filter(|cell| is_shown(document, cell)).collect();
    AXES.iter().flat_map(|axis| of_axis(document, axis, &shown)).collect()
}

fn is_shown(document: &Document, cell: &Cell) -> bool {
    let first = document
        .cells
        .iter()
        .find(|other| other.workload == cell.workload && other.scope == "aggregate");
    cell.scope == "fairness"
        || cell.scope == "aggregate" && first.is_some_and(|first| first.metric == cell.metric)
}

fn of_axis(document: &Document, axis: &Axis, cells: &[&Cell]) -> Vec<Curves> {
    let mut kinds: Vec<(Kind<'_>, Vec<&Cell>)> = Vec::new();
    for &cell in cells {
        let kind = Kind {
            rest: (axis.without)(cell.shape.clone()),
            workload: &cell.workload,
            variant: variant(document, cell),
            metric: cell.metric,
            unit: &cell.unit,
        };
        match kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, cells)) => cells.push(cell),
            None => kinds.push((kind, vec![cell])),
        }
    }
    let shapes: Vec<Shape> = kinds.iter().map(|(kind, _)| kind.rest.clone()).collect();
    kinds
        .iter()
        .filter_map(|(kind, cells)| {
            let grid = grid(axis, cells)?;
            Some(Curves { heading: heading(axis, kind, &shapes), grid })
        })
        .collect()
}

/// What a table of curves is of, and what tells its shape from those of the others.
fn heading(axis: &Axis, kind: &Kind<'_>, shapes: &[Shape]) -> String {
    let what = if kind.unit == "index" { "fairness of " } else { "" };
    let mut heading = format!("{} {what}{} by {}", kind.workload, kind.metric, axis.name);
    for fact in telling_facts(&kind.rest, || shapes.iter()) {
        heading.push_str(&format!(", {fact}"));
    }
    one_line(&heading)
}

/// A row a network, a column a value; nothing where there is one value only.
fn grid(axis: &Axis, cells: &[&Cell]) -> Option<Grid> {
    let mut values: Vec<u32> = cells.iter().map(|cell| (axis.of)(&cell.shape)).collect();
    values.sort_unstable();
    values.dedup();
    let mut rows: Vec<&Cell> = Vec::new();
    for cell in cells {
        if rows.iter().all(|row| row.label != cell.label) {
            rows.push(cell);
        }
    }
    let column = |value: &u32| {
        let at = |row: &&Cell| {
            let found = cells
                .iter()
                .find(|cell| cell.label == row.label && (axis.of)(&cell.shape) == *value);
            found.and_then(|cell| cell.mean.map(|mean| number::measured(mean, cell.ci95)))
        };
        let figures: Vec<_> = rows.iter().map(at).collect();
        let means = figures.iter().map(|figure| {
            figure.as_ref().map_or_else(|| NOTHING.to_owned(), |(mean, _)| mean.clone())
        });
        let halves = figures
            .iter()
            .map(|figure| figure.as_ref().and_then(|(_, half)| half.clone()).unwrap_or_default());
        let means = number::align(&means.collect::<Vec<_>>());
        let halves = number::align(&halves.collect::<Vec<_>>());
        let text = |(mean, half): (String, String)| {
            let sign = if half.trim().is_empty() { ' ' } else { '±' };
            vec![Piece::new(Tone::Plain, format!("{mean} {sign} {half}"))]
        };
        Column {
            name: value.to_string(),
            unit: one_line(&cells[0].unit),
            cells: means.into_iter().zip(halves).map(text).collect(),
            ..Column::default()
        }
    };
    let names = rows.iter().map(|cell| vec![Piece::new(Tone::Strong, name(cell))]).collect();
    (values.len() > 1).then(|| Grid {
        names: Column { name: axis.name.to_owned(), cells: names, ..Column::default() },
        columns: values.iter().map(column).collect(),
    })
}
