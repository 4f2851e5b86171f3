//! Trials from end to end over this machine's loopback, with real agents.

mod common;

use common::{job, loopback};
use serde_json::json;
use std::thread;
use tare_record::{Finding, Placement};
use tare_traffic::{Job, Outcome, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

/// Findings that speak of the machine, which is busy when tests run side by side, and not of the traffic.
fn sound(outcome: &Outcome) {
    let unsound = outcome.findings.iter().find(|finding| !matches!(finding, Finding::Stall { .. }));
    assert_eq!(unsound, None);
}

fn intervals_of(job: &Job) -> u64 {
    job.duration.0 / job.interval.0
}

#[test]
fn a_stream_is_counted_alike_by_both_ends() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let job = job("tcp-stream", &topology, &[]);
    let outcome = session.trial(&job, NEVER).unwrap();
    sound(&outcome);
    assert!(outcome.ends.sent > 0);
    assert_eq!(outcome.ends.sent, outcome.ends.received);
    assert_eq!(outcome.series.len(), 1);
    let intervals = &outcome.series[0].intervals;
    let whole = intervals_of(&job);
    assert!((1..=whole).contains(&(intervals.len() as u64)), "{} intervals", intervals.len());
    // What is in no record is the tail after the last whole interval, never more than what was received.
    let recorded: u64 = intervals.iter().map(|interval| interval.bytes).sum();
    assert!(recorded > 0 && recorded <= outcome.ends.received);
    for (index, interval) in (0u64..).zip(intervals) {
        assert_eq!(interval.start.0, index * job.interval.0);
        assert_eq!(interval.length, job.interval);
    }
    assert!(outcome.agents_cpu.0 > 0);
    for name in ["size", "send", "congestion", "client_cores", "server_cores"] {
        assert!(outcome.parameters.contains_key(name), "{name} is recorded");
    }
}

#[test]
fn round_trips_are_answered_and_timed_one_by_one() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let job = job("tcp-rr", &topology, &[]);
    let outcome = session.trial(&job, NEVER).unwrap();
    sound(&outcome);
    assert!(outcome.ends.completed > 0);
    assert_eq!(outcome.ends.completed, outcome.ends.answered);
    let intervals = &outcome.series[0].intervals;
    assert_eq!(intervals.len() as u64, intervals_of(&job));
    for interval in intervals {
        let latency = interval.latency.as_ref().unwrap();
        assert_eq!(latency.count(), interval.operations);
        // One outstanding: the latencies of an interval fit into it, but for the one that began before it.
        let busy: u64 = latency.iter().map(|(nanos, count)| nanos * count).sum();
        let longest = latency.max().unwrap_or(0);
        assert!(
            busy <= (interval.length.0 + longest) * 1001 / 1000,
            "{busy} in {}",
            interval.length
        );
    }
    let recorded: u64 = intervals.iter().map(|interval| interval.operations).sum();
    // The deadline lets one transaction come after the last whole interval.
    assert!(outcome.ends.completed - recorded <= 1);
}

#[test]
fn many_flows_of_many_clients_are_told_apart_and_added_up() {
    for workload in ["tcp-stream", "tcp-rr"] {
        let topology = loopback(1, 3);
        let mut session = Session::open(&topology).unwrap();
        let mut job = job(workload, &topology, &[]);
        job.shape.flows = 5;
        let outcome = session.trial(&job, NEVER).unwrap();
        sound(&outcome);
        let clients: Vec<u32> = outcome.series.iter().map(|series| series.client).collect();
        assert_eq!(clients, [0, 1, 2], "{workload}");
        for series in &outcome.series {
            let moved: u64 =
                series.intervals.iter().map(|interval| interval.bytes + interval.operations).sum();
            assert!(moved > 0, "{workload}: client {}", series.client);
        }
        assert_eq!(outcome.ends.sent, outcome.ends.received);
        assert_eq!(outcome.ends.completed, outcome.ends.answered);
    }
}

#[test]
fn one_session_does_one_trial_after_another() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    for workload in ["tcp-rr", "tcp-stream", "tcp-rr"] {
        let outcome = session.trial(&job(workload, &topology, &[]), NEVER).unwrap();
        assert!(outcome.ends.sent + outcome.ends.completed > 0, "{workload}");
    }
}

#[test]
fn two_sessions_at_once_do_not_touch_each_other() {
    let sessions = ["tcp-stream", "tcp-rr"].map(|workload| {
        thread::spawn(move || {
            let topology = loopback(1, 1);
            let mut session = Session::open(&topology).unwrap();
            session.trial(&job(workload, &topology, &[]), NEVER).unwrap()
        })
    });
    for session in sessions {
        sound(&session.join().unwrap());
    }
}

#[test]
fn two_processes_in_one_client_make_one_series() {
    let topology = loopback(1, 1);
    let mut session = Session::with_processes(&topology, 2).unwrap();
    let mut job = job("tcp-rr", &topology, &[]);
    job.shape.processes = 2;
    let outcome = session.trial(&job, NEVER).unwrap();
    sound(&outcome);
    assert_eq!(outcome.series.len(), 1);
    let recorded: u64 = outcome.series[0].intervals.iter().map(|one| one.operations).sum();
    assert!(outcome.ends.completed - recorded <= 2);
}

#[test]
fn messages_of_any_size_arrive_whole() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    for flows in [1, 4] {
        let sizes = [("request", json!("3M")), ("response", json!(300_001))];
        let mut job = job("tcp-rr", &topology, &sizes);
        job.shape.flows = flows;
        let outcome = session.trial(&job, NEVER).unwrap();
        sound(&outcome);
        assert!(outcome.ends.completed >= u64::from(flows));
        assert_eq!(outcome.parameters["request"], json!(3 << 20));
    }
}

#[test]
fn a_core_that_is_not_there_is_a_finding_not_a_failure() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let mut job = job("tcp-rr", &topology, &[]);
    job.shape.cpus = Placement::List { clients: vec![1000], servers: vec![0] };
    let outcome = session.trial(&job, NEVER).unwrap();
    assert!(outcome.findings.iter().any(|one| matches!(one, Finding::NotPinned { .. })));
    assert_eq!(outcome.parameters["client_cores"], json!([1000]));
}
