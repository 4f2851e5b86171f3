//! Table of the rates of single clients and of their fairness, next to the table of all clients together.

use crate::columns::{NOTHING, name};
use crate::grid::{self, CellPiece, Grid, GridColumn};
use crate::median::median_of_sorted;
use crate::number;
use crate::style::Tone;
use crate::text::one_line;
use tare_record::{Cell, Document, Shape};

/// Rates of the clients of one network in one workload.
struct ClientShares<'a> {
    /// Cell of Jain's fairness index.
    fairness: &'a Cell,
    /// Mean of each client, smallest first.
    each: Vec<f64>,
}

/// Builds the table of a shape, with a row for each network. Returns `None` if its trials had one client.
pub(crate) fn grid(document: &Document, shape: &Shape) -> Option<Grid> {
    let of_shape: Vec<&Cell> = document.cells.iter().filter(|cell| cell.shape == *shape).collect();
    let indices = || of_shape.iter().filter(|cell| cell.scope == "fairness").copied();
    let mut rows: Vec<&Cell> = Vec::new();
    let mut workloads: Vec<&Cell> = Vec::new();
    for cell in indices() {
        if rows.iter().all(|row| row.label != cell.label) {
            rows.push(cell);
        }
        if workloads.iter().all(|other| !same_workload(other, cell)) {
            workloads.push(cell);
        }
    }
    let columns = workloads.iter().flat_map(|workload| {
        let shares = rows.iter().map(|row| {
            let fairness =
                indices().find(|cell| cell.label == row.label && same_workload(cell, workload))?;
            Some(ClientShares { fairness, each: each(&of_shape, fairness) })
        });
        columns(workload, &of_shape, &shares.collect::<Vec<_>>())
    });
    let columns: Vec<GridColumn> = columns.collect();
    let names = rows.iter().map(|cell| vec![CellPiece::new(Tone::Strong, name(cell))]).collect();
    let names = GridColumn { name: "network".to_owned(), cells: names, ..GridColumn::default() };
    (!rows.is_empty()).then_some(Grid { names, columns })
}

fn same_workload(one: &Cell, other: &Cell) -> bool {
    one.workload == other.workload && one.parameters == other.parameters
}

/// Returns the means of the clients of a network, smallest first.
fn each(cells: &[&Cell], fairness: &Cell) -> Vec<f64> {
    let mine = |cell: &&&Cell| {
        cell.scope.starts_with("client:")
            && (&cell.label, cell.metric) == (&fairness.label, fairness.metric)
            && same_workload(cell, fairness)
    };
    let mut means: Vec<f64> = cells.iter().filter(mine).filter_map(|cell| cell.mean).collect();
    means.sort_by(f64::total_cmp);
    means
}

/// Builds the columns of a workload: the least, the median and the largest client, and Jain's index.
fn columns(
    workload: &Cell,
    cells: &[&Cell],
    shares: &[Option<ClientShares<'_>>],
) -> Vec<GridColumn> {
    let group = one_line(&format!("{} {}", workload.workload, workload.metric));
    let unit = cells
        .iter()
        .find(|cell| cell.metric == workload.metric && cell.scope.starts_with("client:"))
        .map_or_else(String::new, |cell| one_line(&cell.unit));
    let column = |name: &str, unit: &str, texts: Vec<String>| GridColumn {
        group: group.clone(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        cells: number::align(&texts).into_iter().map(plain).collect(),
    };
    let client = |name: &str, pick: fn(&[f64]) -> Option<f64>| {
        let text = |share: &Option<ClientShares<'_>>| {
            let mean = share.as_ref().and_then(|share| pick(&share.each));
            mean.map_or_else(
                || NOTHING.to_owned(),
                |mean| number::round_with_interval(mean, None).0,
            )
        };
        column(name, &unit, shares.iter().map(text).collect())
    };
    let index = |share: &Option<ClientShares<'_>>| {
        let mean = share.as_ref().and_then(|share| share.fairness.mean);
        mean.map_or_else(|| NOTHING.to_owned(), |mean| format!("{mean:.3}"))
    };
    vec![
        client("lowest client", |each| each.first().copied()),
        client("median client", median_of_sorted),
        client("highest client", |each| each.last().copied()),
        column("fairness", "Jain", shares.iter().map(index).collect()),
    ]
}

fn plain(text: String) -> grid::GridCell {
    vec![CellPiece::new(Tone::Plain, text)]
}
