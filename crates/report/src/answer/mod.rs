//! Answer of a run in sentences: what costs what, how sure that is, and why.
//!
//! The sentences are derived from the cells over all clients and their findings. They say what the run has decided,
//! name the networks that it could not tell from the baseline, and leave out the rest. The terminal, Markdown and the
//! page begin with the same sentences.

mod amount;
mod claim;
mod cost;
mod groups;
mod phrase;
mod reasons;
mod sentence;
mod subject;

use crate::shape_facts::SharedFacts;
use claim::{Claim, Outcome, claims};
use groups::{NetworkClaims, Performance};
use phrase::{MEDIANS, RATES, TAILS};
pub(crate) use sentence::{Sentence, Span};
use subject::{ShapeSubjects, WorkloadCells, subjects};
use tare_record::{Cell, Document, Metric, Shape};

/// Answer for the networks of one shape.
pub(crate) struct ShapeAnswer<'a> {
    /// Shape of the figures.
    pub(crate) shape: &'a Shape,
    /// Facts that distinguish the shape from others; empty if there is one shape.
    pub(crate) heading: String,
    /// Sentences; each network has its place in one of them.
    pub(crate) sentences: Vec<Sentence>,
}

/// Returns the answer for each shape, in the document's order.
pub(crate) fn answers(document: &Document) -> Vec<ShapeAnswer<'_>> {
    let all = subjects(document);
    let shared =
        SharedFacts::find(all.iter().map(|subjects| subjects.shape)).naming_nodes(document);
    let answer = |subjects: &ShapeSubjects<'_>| {
        let mut sentences = match subjects.baseline {
            Some(baseline) if !subjects.labels.is_empty() => comparisons(subjects, baseline),
            _ => figures(document, subjects).into_iter().collect(),
        };
        sentences.extend(groups::failed(&failed(document, subjects.shape)));
        sentences
    };
    all.iter()
        .map(|subjects| ShapeAnswer {
            shape: subjects.shape,
            heading: shared.differing(subjects.shape).join(", "),
            sentences: answer(subjects),
        })
        .collect()
}

/// Returns the sentences on a shape's networks: costs first, the largest before the others, then networks that are
/// better, like the baseline, or undecided.
fn comparisons(subjects: &ShapeSubjects<'_>, baseline: &str) -> Vec<Sentence> {
    let all_claims = |label: &str| -> Vec<Claim<'_>> {
        subjects.workloads.iter().flat_map(|workload| claims(workload, label)).collect()
    };
    let (mut different, mut same, mut undecided): (Vec<_>, Vec<_>, Vec<_>) = Default::default();
    let mut without: Vec<&str> = Vec::new();
    for &label in &subjects.labels {
        let claims = all_claims(label);
        let has = |wanted: fn(Outcome) -> bool| claims.iter().any(|claim| wanted(claim.outcome));
        if has(Outcome::is_difference) {
            different.push((label, claims));
        } else if claims.is_empty() {
            without.push(label);
        } else if claims.iter().any(Claim::is_alike) || !has(|it| it == Outcome::Undecided) {
            same.push((label, claims));
        } else {
            undecided.push((label, claims));
        }
    }
    different.sort_by(|(_, one), (_, other)| cost::badness(other).total_cmp(&cost::badness(one)));
    let mut sentences: Vec<Sentence> =
        different.iter().map(|network| difference(subjects, baseline, network)).collect();
    sentences.extend(groups::costing_nothing(&same, baseline));
    sentences.extend(groups::undecided(&undecided, baseline));
    sentences.extend(groups::without_comparison(&without, baseline));
    sentences
}

/// Returns the sentence on a network that differs from the baseline.
fn difference(
    subjects: &ShapeSubjects<'_>,
    baseline: &str,
    (label, claims): &NetworkClaims<'_>,
) -> Sentence {
    let beside = |cell: &Cell| {
        let workload = subjects.workloads.iter().find(|workload| workload.has(cell));
        workload.and_then(|workload| workload.find(baseline, cell.metric)).into_iter().collect()
    };
    cost::sentence(label, baseline, claims, reasons::reasons(claims, beside))
}

/// Returns the labels of the networks that have failed in a shape and have no cell in it.
fn failed<'a>(document: &'a Document, shape: &Shape) -> Vec<&'a str> {
    let mut labels: Vec<&str> = Vec::new();
    for failure in &document.failed {
        let label = failure.network.as_str();
        let is_here = failure.shape.as_ref().is_none_or(|other| other == shape);
        let is_measured =
            document.cells.iter().any(|cell| cell.label == label && cell.shape == *shape);
        if is_here && !is_measured && !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Returns the sentence with the figures of networks that are compared with none: of one network also its waits.
fn figures(document: &Document, subjects: &ShapeSubjects<'_>) -> Option<Sentence> {
    let labels: Vec<&str> = subjects.baseline.into_iter().chain(subjects.labels.clone()).collect();
    let is_path = |label: &str| {
        document.cells.iter().any(|cell| cell.label == label && cell.network == "probe")
    };
    let performance = |label| {
        let figures = subjects.workloads.iter().flat_map(|workload| {
            let cells = telling_cells(workload, label, labels.len() == 1);
            let figure = |cell: &Cell| figure(cell, &workload.qualifier(cell.metric));
            cells.into_iter().map(figure).collect::<Vec<_>>()
        });
        Performance { label, is_path: is_path(label), figures: figures.collect() }
    };
    groups::figures(labels.iter().copied().map(performance).collect())
}

/// Returns the cells of a network that tell most about a workload: its rate, else its waits; both if `in_full`.
fn telling_cells<'a>(workload: &WorkloadCells<'a>, label: &str, in_full: bool) -> Vec<&'a Cell> {
    let cell = |metric: &Metric| workload.find(label, *metric).filter(|cell| cell.mean.is_some());
    let first = |metrics: &[Metric]| metrics.iter().find_map(cell);
    let mut cells: Vec<&Cell> = first(&RATES).into_iter().collect();
    if in_full || cells.is_empty() {
        cells.extend(first(&[Metric::Loss]));
        cells.extend(first(&MEDIANS));
        cells.extend(first(&TAILS));
    }
    if cells.is_empty() {
        cells.extend(workload.metrics(label).iter().find_map(cell));
    }
    cells
}

/// Writes a figure as what the network does, with the verb apart: `carries`, `17.1 ± 1.8 Gbit/s`.
fn figure(cell: &Cell, qualifier: &str) -> (&'static str, String) {
    let (verb, unit) = phrase::performance(cell.metric, &cell.workload);
    let figure = amount::figure(cell.mean.unwrap_or_default(), cell.ci95, &unit);
    let qualifier = if qualifier.is_empty() { String::new() } else { format!(" ({qualifier})") };
    (verb, format!("{figure}{qualifier}"))
}
