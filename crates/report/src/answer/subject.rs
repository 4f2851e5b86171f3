//! Subjects of the sentences of one shape: its workloads, its networks and its baseline.

use super::phrase::{self, MetricKind};
use crate::columns::baseline;
use crate::sections::aggregates;
use crate::shape_facts::differing_parameters;
use crate::variants::variant_labels;
use tare_record::{Cell, Document, Metric, Parameters, Shape};

/// Cells of one workload, with one set of parameters, over all networks of a shape.
pub(crate) struct WorkloadCells<'a> {
    workload: &'a str,
    parameters: &'a Parameters,
    cells: Vec<&'a Cell>,
    /// Nouns that other workloads of the shape have, too: they need the workload's name.
    shared_nouns: Vec<String>,
    /// Parameters that distinguish it from others of its name; empty if there are none.
    detail: String,
}

impl<'a> WorkloadCells<'a> {
    /// Returns the cell of a network in a metric.
    pub(crate) fn find(&self, label: &str, metric: Metric) -> Option<&'a Cell> {
        self.cells.iter().find(|cell| cell.label == label && cell.metric == metric).copied()
    }

    /// Returns the metrics of a network, in the document's order.
    pub(crate) fn metrics(&self, label: &str) -> Vec<Metric> {
        self.cells.iter().filter(|cell| cell.label == label).map(|cell| cell.metric).collect()
    }

    /// Returns true if the cell is of this workload with these parameters.
    pub(crate) fn has(&self, cell: &Cell) -> bool {
        self.workload == cell.workload && *self.parameters == cell.parameters
    }

    /// Returns the name of the workload and its parameters, as far as a metric needs them to be told from those of
    /// other workloads; empty if it does not.
    pub(crate) fn qualifier(&self, metric: Metric) -> String {
        let is_shared = self.shared_nouns.contains(&phrase::noun(metric, self.workload));
        let name = if is_shared { self.workload } else { "" };
        let parts = [name, self.detail.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the metric in words, with the workload if the shape has several that need it.
    pub(crate) fn noun(&self, metric: Metric) -> String {
        let noun = phrase::noun(metric, self.workload);
        let detail =
            if self.detail.is_empty() { String::new() } else { format!(" ({})", self.detail) };
        if !self.shared_nouns.contains(&noun) {
            return format!("{noun}{detail}");
        }
        match phrase::kind(metric) {
            MetricKind::Rate | MetricKind::Share => format!("{} {noun}{detail}", self.workload),
            MetricKind::Time | MetricKind::Effort => format!("{noun} in {}{detail}", self.workload),
        }
    }
}

/// Workloads and networks of one shape.
pub(crate) struct ShapeSubjects<'a> {
    /// Shape of the cells.
    pub(crate) shape: &'a Shape,
    /// Label of the baseline; `None` if no cell is compared with one.
    pub(crate) baseline: Option<&'a str>,
    /// Labels of the networks under comparison, in the document's order, without the baseline and without the variants
    /// that only explain another network.
    pub(crate) labels: Vec<&'a str>,
    /// Workloads, in the document's order.
    pub(crate) workloads: Vec<WorkloadCells<'a>>,
}

/// Returns the subjects of each shape, in the document's order.
pub(crate) fn subjects(document: &Document) -> Vec<ShapeSubjects<'_>> {
    let mut shapes: Vec<(&Shape, Vec<&Cell>)> = Vec::new();
    for cell in aggregates(document) {
        match shapes.iter_mut().find(|(shape, _)| **shape == cell.shape) {
            Some((_, cells)) => cells.push(cell),
            None => shapes.push((&cell.shape, vec![cell])),
        }
    }
    shapes.into_iter().map(|(shape, cells)| ShapeSubjects::new(shape, &cells)).collect()
}

impl<'a> ShapeSubjects<'a> {
    fn new(shape: &'a Shape, cells: &[&'a Cell]) -> Self {
        let baseline = cells.iter().find_map(|cell| baseline(cell));
        let variants = variant_labels(cells.iter().copied());
        let mut labels: Vec<&str> = Vec::new();
        for cell in cells {
            let label = cell.label.as_str();
            let is_variant = variants.iter().any(|variant| variant == label);
            if !labels.contains(&label) && baseline != Some(label) && !is_variant {
                labels.push(label);
            }
        }
        Self { shape, baseline, labels, workloads: workloads(cells) }
    }
}

/// Returns the workloads of a shape, each with what distinguishes it from the others.
fn workloads<'a>(cells: &[&'a Cell]) -> Vec<WorkloadCells<'a>> {
    let mut all: Vec<WorkloadCells<'a>> = Vec::new();
    for cell in cells {
        match all.iter_mut().find(|one| one.has(cell)) {
            Some(one) => one.cells.push(cell),
            None => all.push(WorkloadCells {
                workload: &cell.workload,
                parameters: &cell.parameters,
                cells: vec![cell],
                shared_nouns: Vec::new(),
                detail: String::new(),
            }),
        }
    }
    let known: Vec<(&str, &Parameters, Vec<String>)> =
        all.iter().map(|one| (one.workload, one.parameters, nouns(one))).collect();
    for one in &mut all {
        let of_others = known.iter().filter(|(other, ..)| *other != one.workload);
        let of_others: Vec<&String> = of_others.flat_map(|(.., nouns)| nouns).collect();
        one.shared_nouns =
            nouns(one).into_iter().filter(|noun| of_others.contains(&noun)).collect();
        let others: Vec<&Parameters> = known
            .iter()
            .filter(|(other, ..)| *other == one.workload)
            .map(|(_, parameters, _)| *parameters)
            .collect();
        one.detail = differing_parameters(one.parameters, &others).join(", ");
    }
    all
}

/// Returns the nouns of the metrics of a workload.
fn nouns(workload: &WorkloadCells<'_>) -> Vec<String> {
    workload.cells.iter().map(|cell| phrase::noun(cell.metric, workload.workload)).collect()
}
