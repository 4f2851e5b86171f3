//! Findings as notes: each kind once for a workload, those about the machine once for all, at its worst, with the
//! networks it concerns.

use super::Note;
use super::weight::{Weight, is_about_machine};
use crate::shape_facts::loss_conditions;
use crate::variants::variant_labels;
use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};
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
    /// Subject of the finding beyond its kind, from [`about`].
    about: String,
    /// Conditions of the cell, in words, if packets were lost; otherwise empty.
    conditions: String,
}

/// Returns a note for each kind: first the findings of the whole run, then those of its cells.
pub(crate) fn notes(document: &Document) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for finding in &document.findings {
        let text = finding.to_string();
        if !notes.iter().any(|note| note.text == text) {
            notes.push(Note { weight: Weight::from_finding(finding), text });
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
    matches!(finding, Finding::FewSamples { metric: withheld, .. } if *withheld == metric)
}

fn groups(document: &Document) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for cell in &document.cells {
        for finding in cell.findings.iter().filter(|finding| has_line(document, finding)) {
            let about = about(finding, cell.metric);
            let workload = (!is_about_machine(finding)).then_some(cell.workload.as_str());
            let conditions = conditions(document, cell, finding);
            let key = FindingKey { workload, kind: discriminant(finding), about, conditions };
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

/// Least CPU cost of the measurement itself that is reported, cores.
const LEAST_REPORTED_CORES: f64 = 0.02;

/// Returns true if the finding gets a line. Findings of the whole run have their own line, and every cell has some CPU
/// time to attribute.
fn has_line(document: &Document, finding: &Finding) -> bool {
    let everywhere = match finding {
        Finding::CpuPlaced { .. } => true,
        Finding::Watched { sampling, tcp_info, drops, .. } => {
            sampling + tcp_info + drops < LEAST_REPORTED_CORES
        }
        _ => false,
    };
    !everywhere && !document.findings.contains(finding)
}

impl<'a> FindingGroup<'a> {
    fn add(&mut self, finding: &Finding, workload: &'a str, label: &'a str) {
        self.differs |= *finding != self.worst;
        if finding.severity() > self.worst.severity() {
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
    fn weight(&self, variants: &[String]) -> Weight {
        let is_variant = |label: &&str| variants.iter().any(|variant| variant == label);
        if self.labels.iter().all(is_variant) {
            return Weight::Background;
        }
        Weight::from_finding(&self.worst)
    }

    /// Writes the note. `networks` is the number of all networks of the run.
    fn line(&self, networks: usize) -> String {
        let at_worst = if self.differs && self.labels.len() > 1 { "at worst, " } else { "" };
        let metric = match self.worst {
            Finding::WarmUpMatters { .. }
            | Finding::Drift { .. }
            | Finding::WaitedForCores { .. }
            | Finding::PooledBlocks { .. } => {
                format!(" {}", self.key.about)
            }
            Finding::Ablated { .. } => {
                let metric = self.key.about.split(' ').next();
                metric.map(|metric| format!(" {metric}")).unwrap_or_default()
            }
            _ => String::new(),
        };
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
    match finding {
        Finding::LossPlaced { .. }
        | Finding::Retransmitted { .. }
        | Finding::DroppedAtSocket { .. } => {
            format!(" ({})", loss_conditions(document, cell).join(", "))
        }
        _ => String::new(),
    }
}

/// Returns the subject of a finding beyond its kind. Findings with different subjects are never merged.
fn about(finding: &Finding, metric: Metric) -> String {
    match finding {
        Finding::WarmUpMatters { .. }
        | Finding::FewSamples { .. }
        | Finding::PooledBlocks { .. }
        | Finding::WaitedForCores { .. }
        | Finding::Drift { .. } => metric.to_string(),
        Finding::LowHeadroom { resource, .. } => resource.clone(),
        Finding::OtherCongestionControl { asked, used } => format!("{asked} {used}"),
        Finding::NotPinned { reason } => reason.clone(),
        Finding::OffloadsKept { devices } => devices.join("; "),
        // Each network has effects of its own, in every metric.
        Finding::Ablated { .. } => format!("{metric} {finding}"),
        // Each network loses packets in places of its own, and a cluster has pairs of nodes.
        Finding::LossPlaced { .. } | Finding::NodePair { .. } => finding.to_string(),
        Finding::Retransmitted { drops, .. } => {
            drops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        Finding::Userspace { program, .. } => program.clone(),
        Finding::OffloadLost { place, device, .. } => format!("{place}:{device}"),
        Finding::EncryptedInSoftware { by } => by.clone(),
        Finding::ProgramStandIn { used, .. } => used.clone(),
        _ => String::new(),
    }
}
