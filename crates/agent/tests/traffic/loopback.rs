//! End-to-end trials over loopback, with real agents.

use crate::common::counters::counter;
use crate::common::{
    NEVER, PORT, assert_sound, inside, job, lone_namespace, longest_stall, loopback, loopback_of,
    open_session, open_session_with, recorded_trial,
};
use serde_json::json;
use std::sync::Arc;
use std::thread;
use tare_dev::topology;
use tare_record::{Finding, Nanos, Placement};
use tare_traffic::{TrialJob, TrialOutcome};

/// Sequence-numbered segments of a connection without payload: greeting, answer, and the FIN of either side.
pub(crate) const CONNECTION: u64 = 4;

fn intervals_of(job: &TrialJob) -> u64 {
    job.duration.0 / job.interval.0
}

/// Returns the CPU time of processes so far, as the kernel counts it: in hundredths of a second.
fn ticks(pids: &[u32]) -> u64 {
    let ticks = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        // utime and stime are the 12th and 13th fields after the name, which is in parentheses (proc(5)).
        let after = stat.rsplit(") ").next().unwrap();
        after.split(' ').skip(11).take(2).map(|one| one.parse::<u64>().unwrap()).sum::<u64>()
    };
    pids.iter().map(ticks).sum()
}

#[test]
fn a_stream_is_counted_alike_by_both_ends() {
    let namespace = lone_namespace();
    let [server, client] = ["server-0", "client-0"].map(|name| inside(&namespace, name));
    let started = [&server, &client].map(|one| Arc::clone(&one.started));
    let topology = topology(vec![server], vec![client], |_| PORT);
    let mut session = open_session(&topology).unwrap();
    let job = job("tcp-stream", &topology, &[]);
    let agents = started.map(|started| started.lock().unwrap()[0]);
    let before = ticks(&agents);
    let outcome = recorded_trial(&mut session, &job);
    let used = ticks(&agents) - before;
    assert_sound(&outcome);
    assert_eq!(outcome.ends.sent, outcome.ends.received);
    assert_eq!(outcome.series.len(), 1);
    let intervals = &outcome.series[0].intervals;
    let whole = intervals_of(&job);
    assert!(intervals.len() as u64 <= whole, "{} intervals", intervals.len());
    // The clock begins with the first payload. Bytes outside the records are the tail after the last whole interval.
    let recorded: u64 = intervals.iter().map(|interval| interval.bytes).sum();
    assert!(recorded <= outcome.ends.received);
    for (index, interval) in (0u64..).zip(intervals) {
        assert_eq!(interval.start.0, index * job.interval.0);
        assert_eq!(interval.length, job.interval);
    }
    // Threads that carry traffic use no more than their processes, whose user and system time are rounded down.
    let most = (used + 4) * 10_000_000;
    assert!((1..=most).contains(&outcome.agents_cpu.0), "{} of {most}", outcome.agents_cpu);
    for name in ["size", "send", "congestion", "client_cores", "server_cores"] {
        assert!(outcome.parameters.contains_key(name), "{name} is recorded");
    }
}

#[test]
fn round_trips_are_answered_and_timed_one_by_one() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let mut session = open_session(&topology).unwrap();
    let job = job("tcp-rr", &topology, &[]);
    let outcome = session.run_trial(&job, NEVER).unwrap();
    assert_sound(&outcome);
    assert_eq!(outcome.ends.completed, outcome.ends.answered);
    // Two segments for each transaction, and those of the connection.
    let segments = counter(&namespace, "TcpExt", "TCPOrigDataSent");
    assert_eq!(segments, 2 * outcome.ends.completed + CONNECTION);
    let intervals = &outcome.series[0].intervals;
    assert_eq!(intervals.len() as u64, intervals_of(&job));
    for interval in intervals {
        let latency = interval.latency.as_ref().unwrap();
        assert_eq!(latency.count(), interval.operations);
        // With one transaction outstanding, the latencies of an interval fit into it, except for the one that began
        // earlier.
        let busy: u64 = latency.iter().map(|(nanos, count)| nanos * count).sum();
        let longest = latency.max().unwrap_or(0);
        assert!(
            busy <= (interval.length.0 + longest) * 1001 / 1000,
            "{busy} in {}",
            interval.length
        );
    }
    let recorded: u64 = intervals.iter().map(|interval| interval.operations).sum();
    // One transaction may complete after the last whole interval.
    assert!(outcome.ends.completed - recorded <= 1);
}

#[test]
fn many_flows_of_many_clients_are_told_apart_and_added_up() {
    for workload in ["tcp-stream", "tcp-rr"] {
        let topology = loopback(3);
        let mut session = open_session(&topology).unwrap();
        let mut job = job(workload, &topology, &[]);
        job.shape.flows = 5;
        let outcome = session.run_trial(&job, NEVER).unwrap();
        assert_sound(&outcome);
        let clients: Vec<u32> = outcome.series.iter().map(|series| series.client).collect();
        assert_eq!(clients, [0, 1, 2], "{workload}");
        let moved = |outcome: &TrialOutcome, client: usize| -> u64 {
            let intervals = outcome.series[client].intervals.iter();
            intervals.map(|interval| interval.bytes + interval.operations).sum()
        };
        let each = [0, 1, 2].map(|client| moved(&outcome, client));
        // A client that the machine did not run was still for the whole trial, and a finding says so.
        let still = longest_stall(&outcome) == Some(job.duration);
        assert!(still || each.iter().all(|moved| *moved > 0), "{workload}: {each:?}");
        assert_eq!(outcome.ends.sent, outcome.ends.received);
        assert_eq!(outcome.ends.completed, outcome.ends.answered);
        let all = outcome.ends.received + outcome.ends.completed;
        assert!(each.iter().sum::<u64>() <= all, "{workload}: {each:?} of {all}");
    }
}

#[test]
fn one_session_does_one_trial_after_another() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let mut session = open_session(&topology).unwrap();
    for workload in ["tcp-rr", "tcp-stream", "tcp-rr"] {
        let before = counter(&namespace, "TcpExt", "TCPOrigDataSent");
        let outcome = session.run_trial(&job(workload, &topology, &[]), NEVER).unwrap();
        assert_sound(&outcome);
        let segments = counter(&namespace, "TcpExt", "TCPOrigDataSent") - before;
        let ends = outcome.ends;
        assert_eq!((ends.sent, ends.completed), (ends.received, ends.answered), "{workload}");
        // The outcome contains nothing of the previous trial.
        match workload {
            "tcp-rr" => assert_eq!((ends.sent, segments), (0, 2 * ends.completed + CONNECTION)),
            _ => {
                let payload = segments - CONNECTION;
                assert!(ends.completed == 0 && ends.sent >= payload, "{ends:?}, {payload}");
            }
        }
    }
}

#[test]
fn two_sessions_at_once_do_not_touch_each_other() {
    let sessions = ["tcp-stream", "tcp-rr"].map(|workload| {
        thread::spawn(move || {
            let topology = loopback(1);
            let mut session = open_session(&topology).unwrap();
            session.run_trial(&job(workload, &topology, &[]), NEVER).unwrap()
        })
    });
    for session in sessions {
        assert_sound(&session.join().unwrap());
    }
}

#[test]
fn two_processes_in_one_client_make_one_series() {
    let topology = loopback(1);
    let mut session = open_session_with(&topology, 2).unwrap();
    let mut job = job("tcp-rr", &topology, &[]);
    job.shape.processes = 2;
    let outcome = session.run_trial(&job, NEVER).unwrap();
    assert_sound(&outcome);
    assert_eq!(outcome.series.len(), 1);
    let recorded: u64 = outcome.series[0].intervals.iter().map(|one| one.operations).sum();
    assert!(outcome.ends.completed - recorded <= 2);
}

#[test]
fn messages_of_any_size_arrive_whole() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    for flows in [1, 4] {
        let sizes = [("request", json!("3M")), ("response", json!(300_001))];
        let mut job = job("tcp-rr", &topology, &sizes);
        job.shape.flows = flows;
        let outcome = session.run_trial(&job, NEVER).unwrap();
        assert_sound(&outcome);
        // Each flow begins at once, and each transaction that began is completed.
        assert!(outcome.ends.completed >= u64::from(flows));
        assert_eq!(outcome.ends.completed, outcome.ends.answered);
        assert_eq!(outcome.parameters["request"], json!(3 << 20));
    }
}

#[test]
fn a_core_that_is_not_there_is_a_finding_not_a_failure() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    let mut job = job("tcp-rr", &topology, &[]);
    job.shape.cpus = Placement::List { clients: vec![1000], servers: vec![0] };
    let outcome = session.run_trial(&job, NEVER).unwrap();
    assert!(outcome.findings.iter().any(|one| matches!(one, Finding::PinningFailure(_))));
    assert_eq!(outcome.parameters["client_cores"], json!([1000]));
}

#[test]
fn idling_sends_nothing_and_has_intervals_all_the_same() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let mut session = open_session(&topology).unwrap();
    let job = job("idle", &topology, &[]);
    let outcome = session.run_trial(&job, NEVER).unwrap();
    assert_sound(&outcome);
    assert_eq!(outcome.ends, tare_record::EndCounts::default());
    assert_eq!(counter(&namespace, "TcpExt", "TCPOrigDataSent"), CONNECTION);
    assert_eq!(counter(&namespace, "Udp", "OutDatagrams"), 0);
    let intervals = &outcome.series[0].intervals;
    assert_eq!(intervals.len() as u64, intervals_of(&job));
    assert!(intervals.iter().all(|one| one.bytes + one.operations == 0 && one.latency.is_none()));
    assert!(outcome.epoch.is_some_and(|epoch| epoch > Nanos(0)));
}
