//! Traffic over a path whose behaviour is known must say just that.
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

mod common;

use common::namespaces::Pair;
use common::rates::{one_is_within, settled_rate};
use common::{job, topology};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use tare_record::{Finding, Nanos};
use tare_traffic::{Job, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

#[test]
fn a_path_of_100_mbit_per_second_carries_95_to_100() {
    let Some(pair) = Pair::new() else { return };
    pair.in_client("tc qdisc add dev eth0 root tbf rate 100mbit burst 32kb latency 50ms");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    for flows in [1, 4] {
        let mut job = job("tcp-stream", &topology, &[]);
        job.shape.flows = flows;
        job.duration = Nanos(2_000_000_000);
        job.interval = Nanos(50_000_000);
        one_is_within(0.095..=0.100, &format!("{flows} flows, Gbit/s"), || {
            let outcome = session.trial(&job, NEVER).unwrap();
            assert_eq!(outcome.ends.sent, outcome.ends.received);
            settled_rate(&outcome)
        });
    }
}

#[test]
fn paced_flows_carry_their_rate_in_either_direction() {
    let Some(pair) = Pair::new() else { return };
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    for (direction, flows) in [("up", 1), ("down", 1), ("up", 4)] {
        let asked = [("pacing_rate", json!("40mbit")), ("direction", json!(direction))];
        let mut job = job("tcp-stream", &topology, &asked);
        job.shape.flows = flows;
        job.duration = Nanos(2_000_000_000);
        job.interval = Nanos(50_000_000);
        one_is_within(0.9..=1.03, &format!("{flows} flows {direction}, of their rate"), || {
            let outcome = session.trial(&job, NEVER).unwrap();
            settled_rate(&outcome) / (0.040 * f64::from(flows))
        });
    }
}

/// A trial during which the path is cut: it must end in time, with what was counted, and say what happened.
fn cut_in_the_middle(workload: &str) {
    let Some(pair) = Pair::new() else { return };
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let job = Job { duration: Nanos(2_000_000_000), ..job(workload, &topology, &[]) };
    let polls = AtomicU32::new(0);
    let outcome = session.trial(&job, &|| {
        // Set-up takes a few polls; at the thirtieth the traffic flows.
        if polls.fetch_add(1, Ordering::Relaxed) == 30 {
            pair.in_client("ip link set eth0 down");
        }
        false
    });
    let outcome = outcome.unwrap();
    assert!(outcome.ends.received + outcome.ends.completed > 0, "{workload}: before the cut");
    let stalled = outcome.findings.iter().any(|one| matches!(one, Finding::Stall { .. }));
    assert!(stalled, "{workload}: {:?}", outcome.findings);
    // The silence is in the record, as intervals in which nothing moved.
    let intervals = &outcome.series[0].intervals;
    assert_eq!(intervals.len() as u64, job.duration.0 / job.interval.0);
    assert!(intervals.last().is_some_and(|last| last.bytes + last.operations == 0));
}

#[test]
fn a_stream_whose_path_is_cut_ends_and_says_so() {
    cut_in_the_middle("tcp-stream");
}

#[test]
fn round_trips_whose_path_is_cut_end_and_say_so() {
    cut_in_the_middle("tcp-rr");
}
