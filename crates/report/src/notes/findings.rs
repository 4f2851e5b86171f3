//! Findings as notes: each kind once for a workload, those about the machine once for all, at its worst, with the
//! networks it concerns.

use super::Note;
use crate::shape_facts::loss_conditions;
use crate::variants::variant_labels;
use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};
use tare_record::finding::{FewSamples, FindingScope, FindingWeight};
use tare_record::{Cell, Document, Finding, Metric};

/// Findings of one kind in one workload.
struct FindingGroup<'a> {
    key: FindingKey<'a>,
    worst: Finding,
    /// True if not all findings of the group are equal.
    differs: bool,
    workloads: Vec<&'a str>,
    labels: Vec<&'a str>,
}

/// Key of a group: findings that share it are reported in one line.
#[derive(PartialEq)]
struct FindingKey<'a> {
    /// Workload; `None` for findings about the machine, whatever the workload.
    workload: Option<&'a str>,
    kind: Discriminant<Finding>,
    /// Metric; `None` for findings that are not about one.
    metric: Option<Metric>,
    /// Subject of the finding beyond its kind.
    subject: String,
    /// Conditions of the cell, in words, if packets were lost; otherwise empty.
    conditions: String,
}

/// Returns a note for each kind: first the findings of the whole run, then those of its cells.
pub(crate) fn notes(document: &Document) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for finding in &document.findings {
        let text = finding.to_string();
        if !notes.iter().any(|note| note.text == text) {
            notes.push(Note { weight: finding.kind().weight(), text });
        }
    }
    let networks = labels(document).len();
    let variants = variant_labels(&document.cells);
    notes.extend(
        groups(document)
            .iter()
            .map(|group| Note { weight: group.weight(&variants), text: group.line(networks) }),
    );
    notes
}

/// Returns the labels of all networks with cells.
fn labels(document: &Document) -> BTreeSet<&str> {
    document.cells.iter().map(|cell| cell.label.as_str()).collect()
}

/// Returns true if the finding explains the absence of the metric's percentile.
pub(crate) fn explains_absence(finding: &Finding, metric: Metric) -> bool {
    matches!(finding, Finding::FewSamples(FewSamples { metric: withheld, .. }) if *withheld == metric)
}

fn groups(document: &Document) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for cell in &document.cells {
        for finding in cell.findings.iter().filter(|finding| has_line(document, finding)) {
            let scope = finding.kind().scope();
            let key = FindingKey {
                workload: (scope != FindingScope::Machine).then_some(cell.workload.as_str()),
                kind: discriminant(finding),
                metric: (scope == FindingScope::Metric).then_some(cell.metric),
                subject: finding.kind().subject(),
                conditions: conditions(document, cell, finding),
            };
            let known = groups.iter().position(|group| group.key == key);
            let at = known.unwrap_or_else(|| {
                let (workloads, labels) = (Vec::new(), Vec::new());
                groups.push(FindingGroup {
                    key,
                    worst: finding.clone(),
                    differs: false,
                    workloads,
                    labels,
                });
                groups.len() - 1
            });
            groups[at].add(finding, &cell.workload, &cell.label);
        }
    }
    groups
}

/// Returns true if the finding gets a line. Findings of the whole run have their own line.
fn has_line(document: &Document, finding: &Finding) -> bool {
    finding.kind().has_note() && !document.findings.contains(finding)
}

impl<'a> FindingGroup<'a> {
    fn add(&mut self, finding: &Finding, workload: &'a str, label: &'a str) {
        self.differs |= *finding != self.worst;
        if finding.kind().severity() > self.worst.kind().severity() {
            self.worst = finding.clone();
        }
        if !self.workloads.contains(&workload) {
            self.workloads.push(workload);
        }
        if !self.labels.contains(&label) {
            self.labels.push(label);
        }
    }

    /// Returns the weight of the note. Variants that only explain a network weigh little.
    fn weight(&self, variants: &[String]) -> FindingWeight {
        let is_variant = |label: &&str| variants.iter().any(|variant| variant == label);
        if self.labels.iter().all(is_variant) {
            return FindingWeight::Background;
        }
        self.worst.kind().weight()
    }

    /// Writes the note. `networks` is the number of all networks of the run.
    fn line(&self, networks: usize) -> String {
        let at_worst = if self.differs && self.labels.len() > 1 { "at worst, " } else { "" };
        let metric = self.key.metric.map(|metric| format!(" {metric}")).unwrap_or_default();
        let labels = match self.labels.len() {
            all if all > 1 && all == networks => "all networks".to_owned(),
            _ => self.labels.join(", "),
        };
        let workloads = format!("{}{}", self.workloads.join(", "), self.key.conditions);
        format!("{workloads}{metric} over {labels}: {at_worst}{}", self.worst)
    }
}

/// Returns the conditions of a cell in brackets, if the finding is about lost packets: what is lost depends on them.
fn conditions(document: &Document, cell: &Cell, finding: &Finding) -> String {
    if !finding.kind().is_about_losses() {
        return String::new();
    }
    format!(" ({})", loss_conditions(document, cell).join(", "))
}
