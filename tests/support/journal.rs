//! Journal of a run as other programs see it: JSON, line by line. It is read, or rewritten to known figures.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the records of the journal in a result directory, up to its last whole line. Empty if there is no journal.
///
/// # Panics
///
/// Panics if a whole line is not JSON.
pub fn records(directory: &Path) -> Vec<Value> {
    let text = fs::read_to_string(directory.join("journal.jsonl")).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).expect("a whole line is a record"))
        .collect()
}

/// Returns the trials of the journal in a result directory.
pub fn trials(directory: &Path) -> Vec<Value> {
    let records = records(directory).into_iter();
    records.filter(|record| record["record"] == "trial").collect()
}

/// Returns the number of blocks in which a network was measured with a workload. Which of its trials have figures follows from
/// the journal: a busy machine may let none of a trial's traffic through.
pub fn measured_blocks(trials: &[Value], label: &str, workload: &str) -> usize {
    let is_own = |trial: &&Value| trial["label"] == label && trial["workload"] == workload;
    let own = trials.iter().filter(is_own);
    own.map(|trial| trial["block"].as_u64()).collect::<BTreeSet<_>>().len()
}

/// Changes every trial of the journal in a result directory.
///
/// # Panics
///
/// Panics if there is no journal, or if it cannot be written.
pub fn rewrite(directory: &Path, change: impl Fn(&mut Value)) {
    let lines = records(directory).into_iter().map(|mut record| {
        if record["record"] == "trial" {
            change(&mut record);
        }
        record.to_string() + "\n"
    });
    let text: String = lines.collect();
    fs::write(directory.join("journal.jsonl"), text).expect("the journal is ours");
}

/// Sets the rate of every interval of every client of a trial, bit/s. A client that a busy machine kept from all its traffic
/// has no interval, and gets one.
///
/// # Panics
///
/// Panics if the trial has no list of clients or intervals.
pub fn set_rate(trial: &mut Value, rate: f64) {
    for series in trial["series"].as_array_mut().expect("clients") {
        let intervals = series["intervals"].as_array_mut().expect("intervals");
        if intervals.is_empty() {
            intervals.push(json!({"start": 0, "length": 10_000_000, "operations": 0}));
        }
        for interval in intervals {
            let seconds = interval["length"].as_f64().expect("ns") / 1e9;
            interval["bytes"] = ((rate / 8.0 * seconds).round() as u64).into();
        }
    }
}

/// Adds up a count over all intervals of one client, such as `/bytes` or `/datagrams/received`.
pub fn sum(series: &Value, pointer: &str) -> u64 {
    let intervals = super::list(series, "intervals").iter();
    intervals.filter_map(|interval| interval.pointer(pointer)?.as_u64()).sum()
}

/// Returns the growth of a counter in a namespace during a trial: `("server-0", "/protocols/Udp.InDatagrams")`. It is 0
/// if the counter did not change.
pub fn counter(trial: &Value, place: &str, pointer: &str) -> u64 {
    let places = super::list(&trial["meanwhile"]["counted"], "places");
    let place = places.iter().find(|one| one["place"] == place);
    place.and_then(|place| place.pointer(pointer)?.as_u64()).unwrap_or(0)
}
