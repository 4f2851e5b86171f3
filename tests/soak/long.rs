//! Trial of ten minutes: figures do not drift, every figure is a number, and no process grows.

use crate::holdings::{Holdings, holdings};
use std::collections::BTreeMap;
use std::time::Duration;
use support::ScratchDirectory;
use support::list;
use support::program::{Tare, User};

/// Default duration of the trial, in seconds, unless `TARE_LONG_DURATION` is set. `TARE_LONG_WORKLOADS` names the
/// workloads; the default is all.
const MINUTES: &str = "600";
/// Time between two samples of the processes' memory.
const LOOK: Duration = Duration::from_secs(5);
/// Allowed growth of a process after the first quarter of its samples, KiB: a few pages of bookkeeping, and the records
/// of every interval that are reported at the end.
const GROWTH: u64 = 2048;
const PER_INTERVAL: u64 = 4;
const INTERVALS_A_SECOND: u64 = 10;
/// Change of the level between beginning and end that counts as drift.
const DRIFT: f64 = 0.10;

/// Returns the memory of each process of a trial at every sample, and the document of the trial.
fn watched(tare: &Tare, arguments: &[&str]) -> (BTreeMap<i32, Vec<u64>>, serde_json::Value) {
    let running = tare.start(arguments);
    let mut looks: BTreeMap<i32, Vec<u64>> = BTreeMap::new();
    while !crate::ended_within(&running, LOOK) {
        for (pid, Holdings { memory, .. }) in holdings(tare.program()) {
            looks.entry(pid).or_default().push(memory);
        }
    }
    (looks, running.wait().expect(0).json())
}

#[test]
#[ignore = "takes twenty minutes: make soak"]
fn ten_minutes_show_no_drift_no_nan_and_no_growth() {
    let duration = std::env::var("TARE_LONG_DURATION").unwrap_or_else(|_| MINUTES.to_owned());
    let seconds: u64 = duration.parse().expect("seconds");
    let growth = GROWTH + PER_INTERVAL * INTERVALS_A_SECOND * seconds;
    let workloads =
        std::env::var("TARE_LONG_WORKLOADS").unwrap_or_else(|_| "tcp-rr udp-rate".to_owned());
    for workload in workloads.split(' ') {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, User::Ordinary);
        let duration = format!("{duration}s");
        let arguments = ["run", "--network", "veth", "--baseline", "veth", "--workload", workload];
        let times = ["--duration", &duration, "--blocks", "1", "--interval", "100ms", "--json"];
        let (looks, document) =
            watched(&tare, &[&arguments[..], &times, &["--out", "out"]].concat());
        assert!(looks.len() >= 3, "the command and its agents: {looks:?}");
        for (pid, kib) in &looks {
            let settled = kib.len() / 4;
            let (early, late) = (kib[..=settled].iter().max().unwrap(), kib.iter().max().unwrap());
            println!(
                "{workload}: process {pid}: {early} KiB in the first quarter, {late} KiB at most"
            );
            // At the end the command holds the whole trial once, to write it.
            let whole_trial = *pid == *looks.keys().min().unwrap();
            assert!(whole_trial || late - early <= growth, "{workload} grew: {kib:?}");
        }
        for cell in list(&document, "cells") {
            let mean = cell["mean"].as_f64();
            assert!(mean.is_some_and(f64::is_finite) || !cell["withheld"].is_null(), "{cell}");
            for finding in list(cell, "findings").iter().filter(|one| one["kind"] == "trend") {
                let change = finding["change"].as_f64().expect("a number");
                assert!(change.abs() <= DRIFT, "{workload} drifted: {finding}");
            }
        }
    }
}
