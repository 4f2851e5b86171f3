//! Tables of sweeps (clients, servers, processes, flows): a column for each swept value, a row for each network.

use crate::columns::{NOTHING, name};
use crate::grid::{CellPiece, Grid, GridColumn};
use crate::number;
use crate::shape_facts::{SharedFacts, WorkloadVariant, differing_variant, variant};
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{Cell, Document, Metric, Shape};

/// Parameter of a shape that a study can sweep.
struct SweptParameter {
    /// Name of the parameter, for headings.
    name: &'static str,
    /// Reads the parameter of a shape.
    value: fn(&Shape) -> u32,
    /// Sets the parameter to 0, so that shapes that differ only in it become equal.
    without: fn(Shape) -> Shape,
}

const AXES: [SweptParameter; 4] = [
    SweptParameter {
        name: "clients",
        value: |shape| shape.clients,
        without: |shape| Shape { clients: 0, ..shape },
    },
    SweptParameter {
        name: "servers",
        value: |shape| shape.servers,
        without: |shape| Shape { servers: 0, ..shape },
    },
    SweptParameter {
        name: "processes",
        value: |shape| shape.processes,
        without: |shape| Shape { processes: 0, ..shape },
    },
    SweptParameter {
        name: "flows",
        value: |shape| shape.flows,
        without: |shape| Shape { flows: 0, ..shape },
    },
];

/// Key of a table of curves: all its cells share these values.
#[derive(PartialEq)]
struct CurveKey<'a> {
    rest: Shape,
    workload: &'a str,
    /// Workload and parameters, if the workload was run with several sets of them.
    variant: Option<WorkloadVariant<'a>>,
    metric: Metric,
    unit: &'a str,
}

/// Table of curves, with its heading.
pub(crate) struct CurveTable {
    /// Metric and workload, and the swept parameter.
    pub(crate) heading: String,
    /// A column for each value of the swept parameter.
    pub(crate) grid: Grid,
}

/// Builds a table for each parameter with more than one value: of the first metric of each workload, and of fairness.
pub(crate) fn curves(document: &Document) -> Vec<CurveTable> {
    let shown: Vec<&Cell> = document.cells.iter().filter(|cell| is_shown(document, cell)).collect();
    AXES.iter().flat_map(|axis| tables_of_parameter(document, axis, &shown)).collect()
}

fn is_shown(document: &Document, cell: &Cell) -> bool {
    cell.scope == "fairness" || is_first_metric(document, cell)
}

/// Returns true for a cell over all clients of the first metric that its workload has.
pub(crate) fn is_first_metric(document: &Document, cell: &Cell) -> bool {
    let is_aggregate = |cell: &Cell| cell.scope == "aggregate";
    let same_workload = |other: &&Cell| other.workload == cell.workload && is_aggregate(other);
    let first = document.cells.iter().find(same_workload);
    is_aggregate(cell) && first.is_some_and(|first| first.metric == cell.metric)
}

fn tables_of_parameter(
    document: &Document,
    axis: &SweptParameter,
    cells: &[&Cell],
) -> Vec<CurveTable> {
    let mut kinds: Vec<(CurveKey<'_>, Vec<&Cell>)> = Vec::new();
    for &cell in cells {
        let kind = CurveKey {
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
    let shared = SharedFacts::find(kinds.iter().map(|(kind, _)| &kind.rest));
    kinds
        .iter()
        .filter_map(|(kind, cells)| {
            let grid = grid(axis, cells)?;
            let mut facts = shared.differing(&kind.rest);
            let variants = kinds.iter().map(|(kind, _)| kind.variant);
            facts.extend(differing_variant(kind.variant, variants));
            Some(CurveTable { heading: heading(axis, kind, &facts), grid })
        })
        .collect()
}

/// Writes the heading of a table: metric, workload, swept parameter, and the facts that distinguish its shape and its
/// parameters from the others.
fn heading(axis: &SweptParameter, kind: &CurveKey<'_>, facts: &[String]) -> String {
    let what = if kind.unit == "index" { "fairness of " } else { "" };
    let mut heading = format!("{} {what}{} by {}", kind.workload, kind.metric, axis.name);
    for fact in facts {
        heading.push_str(&format!(", {fact}"));
    }
    one_line(&heading)
}

/// Builds a table: a row for each network, a column for each value. Returns `None` if there is only one value.
fn grid(axis: &SweptParameter, cells: &[&Cell]) -> Option<Grid> {
    let mut values: Vec<u32> = cells.iter().map(|cell| (axis.value)(&cell.shape)).collect();
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
                .find(|cell| cell.label == row.label && (axis.value)(&cell.shape) == *value);
            found.and_then(|cell| cell.mean.map(|mean| number::figure(mean, cell.ci95, cell.n)))
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
            vec![CellPiece::new(Tone::Plain, format!("{mean} {sign} {half}"))]
        };
        GridColumn {
            name: value.to_string(),
            unit: one_line(&cells[0].unit),
            cells: means.into_iter().zip(halves).map(text).collect(),
            ..GridColumn::default()
        }
    };
    let names = rows.iter().map(|cell| vec![CellPiece::new(Tone::Strong, name(cell))]).collect();
    (values.len() > 1).then(|| Grid {
        names: GridColumn { name: axis.name.to_owned(), cells: names, ..GridColumn::default() },
        columns: values.iter().map(column).collect(),
    })
}
