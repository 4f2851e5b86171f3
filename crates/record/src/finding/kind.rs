//! What each kind of finding says of itself.

use crate::Metric;
use std::fmt;

/// Kind of finding: its evidence, its words (by [`fmt::Display`]) and its place in the reports.
pub trait FindingKind: fmt::Display {
    /// Returns the weight of the finding for a reader of the figures.
    fn weight(&self) -> FindingWeight;

    /// Returns the severity of the finding within its kind: larger is worse. Findings of different kinds, or of different
    /// subjects, cannot be compared.
    fn severity(&self) -> f64 {
        0.0
    }

    /// Returns what the finding is about.
    fn scope(&self) -> FindingScope {
        FindingScope::Workload
    }

    /// Returns the subject of the finding beyond its kind and its scope. Findings of different subjects are never merged.
    fn subject(&self) -> String {
        String::new()
    }

    /// Returns true if the finding is about lost packets, whose number depends on the conditions of their cell.
    fn is_about_losses(&self) -> bool {
        false
    }

    /// Returns true if the finding has a line among the notes of a report.
    fn has_note(&self) -> bool {
        true
    }

    /// Returns the reason that the finding gives for a network's cost in a metric. Returns `None` if it explains none.
    fn cost_reason(&self, _metric: Metric) -> Option<String> {
        None
    }
}

/// Weight of a finding for a reader of the figures, the weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingWeight {
    /// All figures were made in another way than the host's settings say.
    Method,
    /// The figures are to be read in another way: the machine was busy, or something else was measured than requested.
    Reading,
    /// A network's figures are explained.
    Network,
    /// Facts that change little.
    Background,
}

/// What a finding is about: it is told once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingScope {
    /// The machine, whatever the workload.
    Machine,
    /// A workload.
    Workload,
    /// A metric of a workload.
    Metric,
}

/// Returns a part as a share of the whole. Returns 0 if there is no whole.
pub(super) fn part_of(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
