//! Paths that are cut during a trial: the trial ends, with its counts, and reports the cut.

use crate::common::counters::Frames;
use crate::common::{act_once, job, longest_stall, monotonic, open_session, pair_topology};
use serde_json::json;
use std::cell::Cell;
use tare_dev::NamespacePair;
use tare_record::{Interval, Nanos};
use tare_traffic::{TrialJob, TrialOutcome};

/// Bytes that both devices have received when the path is cut. Set-up takes a few hundred.
const BEFORE: u64 = 100_000;

/// Runs a trial whose path is cut once its traffic flows.
fn cut(workload: &str, asked: &[(&str, serde_json::Value)]) -> TrialOutcome {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    let job = TrialJob { duration: Nanos(3_000_000_000), ..job(workload, &topology, asked) };
    let cut = Cell::new(Nanos(0));
    let flows = || {
        let both = [&pair.client, &pair.server].map(|one| Frames::received_by(one, "eth0").bytes);
        both.iter().sum::<u64>() > BEFORE
    };
    let cut_path = || {
        pair.client.run("ip link set eth0 down");
        cut.set(monotonic());
    };
    let outcome = session.run_trial(&job, &act_once(flows, cut_path)).unwrap();
    let rest = (outcome.epoch.unwrap().0 + job.duration.0).checked_sub(cut.get().0);
    assert!(rest.is_some_and(|rest| rest > 500_000_000), "the path was cut late: {rest:?} ns left");
    assert!(longest_stall(&outcome).is_some(), "{workload}: {:?}", outcome.findings);
    // The record contains the silence, as intervals without progress.
    let intervals = &outcome.series[0].intervals;
    assert_eq!(intervals.len() as u64, job.duration.0 / job.interval.0, "{workload}");
    let moved = |one: &Interval| one.bytes + one.operations;
    assert_eq!(intervals.last().map(moved), Some(0), "{workload}");
    outcome
}

#[test]
fn streams_whose_path_is_cut_end_and_say_so() {
    for direction in ["up", "down", "both"] {
        let outcome = cut("tcp-stream", &[("direction", json!(direction))]);
        // Acknowledgements are the smaller part of the bytes that the devices received.
        assert!(outcome.ends.received > BEFORE / 2, "{direction}: {:?}", outcome.ends);
    }
}

#[test]
fn round_trips_whose_path_is_cut_end_and_say_so() {
    // A transaction takes at most four frames of 67 bytes: two messages and two acknowledgements.
    let outcome = cut("tcp-rr", &[]);
    assert!(outcome.ends.completed > BEFORE / (4 * 67) / 2, "{:?}", outcome.ends);
}

#[test]
fn datagrams_whose_path_is_cut_end_and_are_lost() {
    let outcome = cut("udp-rr", &[]);
    // A transaction takes two frames of 43 bytes.
    assert!(outcome.ends.completed > BEFORE / (2 * 43) / 2, "{:?}", outcome.ends);
    assert!(outcome.ends.datagrams_sent > outcome.ends.datagrams_received);
}
