//! Figure of a question's page: bars of what a reader compares, as an SVG file.

use crate::html::bar_chart_file;
use crate::sections::aggregates;
use crate::shape_facts::{SharedFacts, differing_parameters};
use tare_record::{Cell, Document, Metric, Parameters};

/// Metrics that are drawn, each in a panel of its own; the first that are there.
const DRAWN: [Metric; 4] =
    [Metric::Throughput, Metric::LatencyP50, Metric::Tps, Metric::Transactions];

/// Largest number of panels.
const PANELS: usize = 2;

/// Draws the figures of a run as an SVG file. Returns `None` if nothing was measured that is drawn.
#[must_use]
pub fn answer_figure(document: &Document) -> Option<String> {
    let is_measured = |metric: &Metric| {
        aggregates(document).any(|cell| cell.metric == *metric && cell.mean.is_some())
    };
    let metrics: Vec<Metric> = DRAWN.into_iter().filter(is_measured).take(PANELS).collect();
    let shown: Vec<&Cell> =
        aggregates(document).filter(|cell| metrics.contains(&cell.metric)).collect();
    let cells = shown.iter().map(|cell| named_apart(cell, &shown)).collect();
    bar_chart_file(&Document { cells, ..document.clone() })
}

/// Returns a cell whose label tells it apart from the other cells of its metric.
fn named_apart(cell: &Cell, all: &[&Cell]) -> Cell {
    let beside: Vec<&&Cell> = all.iter().filter(|other| other.metric == cell.metric).collect();
    let mut parts = vec![cell.label.clone()];
    if beside.iter().any(|other| other.workload != cell.workload) {
        parts.push(cell.workload.clone());
    }
    let parameters: Vec<&Parameters> = beside
        .iter()
        .filter(|other| other.workload == cell.workload && other.parameters != cell.parameters)
        .map(|other| &other.parameters)
        .collect();
    parts.extend(differing_parameters(&cell.parameters, &parameters));
    parts.extend(SharedFacts::find(beside.iter().map(|other| &other.shape)).differing(&cell.shape));
    Cell { label: parts.join(" · "), ..cell.clone() }
}
