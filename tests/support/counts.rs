//! Totals of the counters of a run's agents.

use super::journal::trials;
use serde_json::Value;
use std::path::Path;

/// Returns the CPU time of a program on the path over all trials, ns. It is 0 if no trial has counted it.
pub fn program_time(directory: &Path, name: &str) -> u64 {
    let of_trial = |trial: &Value| trial["meanwhile"]["counted"]["daemons"][name].as_u64();
    trials(directory).iter().filter_map(of_trial).sum()
}

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
