//! Totals of the counters of a run's agents.

use super::journal::trials;
use std::path::Path;

/// Adds up one of the agents' counters over all trials of a workload: `received`, `datagrams_sent`.
///
/// # Panics
///
/// Panics if the run has no trial of the workload.
#[track_caller]
pub fn total(directory: &Path, workload: &str, counter: &str) -> u64 {
    let trials = trials(directory);
    let mut own = trials.iter().filter(|trial| trial["workload"] == workload).peekable();
    assert!(own.peek().is_some(), "no trial of {workload} in {}", directory.display());
    own.map(|trial| trial["ends"][counter].as_u64().expect("a known counter")).sum()
}
