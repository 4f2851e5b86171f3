//! Request and response over TCP and UDP: the counts are correct in every wait mode.

use crate::common::counters::counter;
use crate::common::{
    NEVER, PORT, agent, assert_sound, job, lone_namespace, loopback, loopback_of, offered_rate,
    open_session,
};
use crate::loopback::CONNECTION;
use crate::udp_round_trips::{MessageCounters, RoundTripCounts, round_trips};
use serde_json::json;
use std::net::Ipv6Addr;
use tare_dev::{AgentContainer, topology};
use tare_record::finding::{SlowSender, SpinningThreads};
use tare_record::{Finding, Interval, LatencyHistogram, Nanos};
use tare_traffic::TrialOutcome;

#[test]
fn every_way_of_waiting_counts_what_both_ends_saw() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let mut session = open_session(&topology).unwrap();
    let wire = MessageCounters::for_requests(&namespace, 1);
    for workload in ["tcp-rr", "udp-rr"] {
        for wait in ["block", "spin"] {
            for (flows, threads) in [(1, 1), (7, 2)] {
                let asked = [("wait", json!(wait)), ("threads", json!(threads))];
                let mut job = job(workload, &topology, &asked);
                job.shape.flows = flows;
                let segments = || counter(&namespace, "TcpExt", "TCPOrigDataSent");
                let (before, datagrams) = (segments(), wire.counts());
                let outcome = session.run_trial(&job, NEVER).unwrap();
                let what = format!("{workload} {wait} {flows}");
                assert_sound(&outcome);
                // A flow may complete a transaction after the last whole interval; over UDP also a late one.
                let after = if workload == "tcp-rr" {
                    assert_eq!(outcome.ends.completed, outcome.ends.answered, "{what}");
                    // Each message is a segment.
                    let all = 2 * outcome.ends.completed + CONNECTION * u64::from(flows);
                    assert_eq!(segments() - before, all, "{what}");
                    flows
                } else {
                    RoundTripCounts::from_outcome(&outcome).assert_agrees(
                        datagrams,
                        wire.counts(),
                        &what,
                    );
                    2 * flows
                };
                let recorded: u64 =
                    outcome.series[0].intervals.iter().map(|one| one.operations).sum();
                assert_eq!(round_trips(&outcome).count(), recorded, "{what}");
                let late = outcome.ends.completed - recorded;
                assert!(late <= u64::from(after), "{what}: {late} after the end");
                assert_eq!(outcome.parameters["wait"], json!(wait));
                assert!(outcome.epoch.is_some());
                assert_eq!(outcome.agents.clients.len(), 15, "{what}");
                assert_eq!(outcome.agents.servers.len(), 15, "{what}");
            }
        }
    }
}

#[test]
fn threads_that_spin_on_one_core_are_a_finding() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    let mut job = job("udp-rr", &topology, &[("wait", json!("spin"))]);
    job.shape.cpus = "same".parse().unwrap();
    let outcome = session.run_trial(&job, NEVER).unwrap();
    let expected = Finding::SpinningThreads(SpinningThreads { threads: 2, cores: 1 });
    assert!(outcome.findings.contains(&expected), "{:?}", outcome.findings);
}

#[test]
fn busy_polling_is_refused_where_no_card_has_a_queue() {
    for workload in ["tcp-rr", "udp-rr"] {
        let topology = loopback(1);
        let mut session = open_session(&topology).unwrap();
        let job = job(workload, &topology, &[("wait", json!("busy-poll"))]);
        let error = session.run_trial(&job, NEVER).unwrap_err().to_string();
        let why = "cannot use --wait busy-poll: packets come from no NAPI queue";
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn both_families_and_all_sizes_pass() {
    let namespace = lone_namespace();
    let here = |name: &str| {
        AgentContainer::new(name, &agent()).in_namespace(&namespace, Ipv6Addr::LOCALHOST.into())
    };
    let topology = topology(vec![here("server-0")], vec![here("client-0")], |_| PORT);
    let mut session = open_session(&topology).unwrap();
    for (request, response) in [(1, 1), (1, 9000), (8, 1), (20, 20), (65_507, 3)] {
        for workload in ["tcp-rr", "udp-rr"] {
            let sizes = [("request", json!(request)), ("response", json!(response))];
            let mut job = job(workload, &topology, &sizes);
            job.shape.flows = 3;
            let outcome = session.run_trial(&job, NEVER).unwrap();
            assert_sound(&outcome);
            let what = format!("{workload} {request}/{response}: {:?}", outcome.ends);
            // Each flow begins at once, and each request that was sent is answered.
            assert!(outcome.ends.answered >= 3, "{what}");
            if workload == "tcp-rr" {
                assert_eq!(outcome.ends.completed, outcome.ends.answered, "{what}");
            } else {
                RoundTripCounts::from_outcome(&outcome).assert_ordered(&what);
            }
        }
    }
}

/// Merges the one-way times of all intervals.
fn one_way(outcome: &TrialOutcome) -> LatencyHistogram {
    let mut all = LatencyHistogram::new().unwrap();
    let intervals = outcome.series.iter().flat_map(|series| &series.intervals);
    let told = intervals.filter_map(|interval: &Interval| interval.one_way.as_ref());
    told.for_each(|one| all.merge(one).unwrap());
    all
}

#[test]
fn one_way_is_told_where_a_request_has_room_for_its_time() {
    let topology = loopback(2);
    let mut session = open_session(&topology).unwrap();
    for workload in ["tcp-rr", "udp-rr"] {
        let mut job = job(workload, &topology, &[("request", json!(8))]);
        job.shape.flows = 2;
        let outcome = session.run_trial(&job, NEVER).unwrap();
        assert_sound(&outcome);
        let (there, both) = (one_way(&outcome), round_trips(&outcome));
        // On each of four flows, the first request carries the trial's beginning and no sending time, and one may
        // arrive after the end. The same holds for datagrams that were given up although they arrived.
        let given_up = RoundTripCounts::from_outcome(&outcome).given_up();
        let most = outcome.ends.answered - 4;
        let least = most.saturating_sub(4 + 2 * given_up);
        assert!((least..=most).contains(&there.count()), "{} of {least}..={most}", there.count());
        // No one-way time exceeds the round trip that it is part of: at least as many round trips as half of the
        // one-way times are as long, except for those that are not in both. Histograms keep three digits.
        let median = there.quantile(0.5).unwrap();
        let longer = both.iter().filter(|(nanos, _)| *nanos >= median / 1000 * 998);
        let longer: u64 = longer.map(|(_, count)| count).sum();
        let pairs = (there.count() / 2).saturating_sub(4 + given_up);
        assert!(longer >= pairs, "{workload}: {longer} of {pairs} take {median} ns");
        for series in &outcome.series {
            assert!(series.intervals.iter().all(|one| one.one_way.is_some()), "{workload}");
        }
        let small =
            session.run_trial(&crate::common::job(workload, &topology, &[]), NEVER).unwrap();
        assert!(small.series[0].intervals.iter().all(|one| one.one_way.is_none()));
    }
}

#[test]
fn an_open_loop_does_what_is_due_and_no_more() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    for workload in ["tcp-rr", "udp-rr"] {
        for (wait, flows) in [("block", 1), ("spin", 1), ("block", 5), ("spin", 5)] {
            let asked = [("open_loop", json!("400")), ("wait", json!(wait))];
            let mut job = job(workload, &topology, &asked);
            job.shape.flows = flows;
            let outcome = session.run_trial(&job, NEVER).unwrap();
            let what = format!("{workload} {wait} {flows}: {:?}", outcome.ends);
            let counted = RoundTripCounts::from_outcome(&outcome);
            counted.assert_ordered(&what);
            let begun = if workload == "tcp-rr" {
                assert_eq!(outcome.ends.completed, outcome.ends.answered, "{what}");
                outcome.ends.completed
            } else {
                counted.requests
            };
            // 120 transactions are due in 0.3 s. If a busy machine did not reach the last ones before the end, a
            // finding says so.
            assert!(begun <= 120, "{what}");
            let few = (begun < 117).then_some(begun as f64 / job.duration.as_secs_f64());
            assert_eq!(offered_rate(&outcome), few, "{what}");
        }
    }
}

#[test]
fn a_rate_that_cannot_be_had_is_said_with_what_was_had() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    let job = job("tcp-rr", &topology, &[("open_loop", json!("50m"))]);
    let outcome = session.run_trial(&job, NEVER).unwrap();
    let had = outcome.ends.completed as f64 / Nanos(300_000_000).as_secs_f64();
    let expected = Finding::SlowSender(SlowSender { asked: 50e6, offered: had });
    assert!(outcome.findings.contains(&expected), "{:?}", outcome.findings);
}
