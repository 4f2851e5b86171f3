//! Requests and responses, over TCP and UDP: what is counted is what happened, however one waits.
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

mod common;

use common::namespaces::Pair;
use common::{Here, free_port, job, loopback, topology};
use serde_json::json;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use tare_record::{Finding, Interval, LatencyHistogram, Nanos};
use tare_traffic::{Job, Outcome, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

/// Findings that speak of the machine, which is busy when tests run side by side, and not of the traffic.
fn sound(outcome: &Outcome) {
    let of_machine =
        |one: &&Finding| !matches!(one, Finding::Stall { .. } | Finding::SpinsOnSharedCore { .. });
    assert_eq!(outcome.findings.iter().find(of_machine), None);
}

/// The latencies of all intervals together.
fn all(outcome: &Outcome, which: fn(&Interval) -> Option<&LatencyHistogram>) -> LatencyHistogram {
    let mut all = LatencyHistogram::new().unwrap();
    let intervals = outcome.series.iter().flat_map(|series| &series.intervals);
    intervals.filter_map(which).for_each(|one| all.merge(one).unwrap());
    all
}

fn round_trips(outcome: &Outcome) -> LatencyHistogram {
    all(outcome, |interval| interval.latency.as_ref())
}

#[test]
fn every_way_of_waiting_counts_what_both_ends_saw() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    for workload in ["tcp-rr", "udp-rr"] {
        for wait in ["block", "spin"] {
            for (flows, threads) in [(1, 1), (7, 2)] {
                let asked = [("wait", json!(wait)), ("threads", json!(threads))];
                let mut job = job(workload, &topology, &asked);
                job.shape.flows = flows;
                let outcome = session.trial(&job, NEVER).unwrap();
                let what = format!("{workload} {wait} {flows}");
                sound(&outcome);
                assert!(outcome.ends.completed > 0, "{what}");
                answered_in_time(&outcome, &what);
                let recorded: u64 =
                    outcome.series[0].intervals.iter().map(|one| one.operations).sum();
                assert_eq!(round_trips(&outcome).count(), recorded, "{what}");
                // The deadline lets every flow complete one transaction after the last whole interval.
                let after = outcome.ends.completed - recorded;
                assert!(after <= u64::from(flows), "{what}: {after} after the end");
                assert_eq!(outcome.parameters["wait"], json!(wait));
                assert!(outcome.epoch.is_some());
                assert_eq!(outcome.agents.clients.len(), 15, "{what}");
                assert_eq!(outcome.agents.servers.len(), 15, "{what}");
            }
        }
    }
}

/// All that was answered was completed: a request counts as lost only when a machine under load has let its flow wait for a
/// fifth of a second.
fn answered_in_time(outcome: &Outcome, what: &str) {
    let stalled = |one: &Finding| matches!(one, Finding::Stall { .. });
    let late = outcome.ends.answered - outcome.ends.completed;
    assert!(late == 0 || outcome.findings.iter().any(stalled), "{what}: {late} late");
}

#[test]
fn threads_that_spin_on_one_core_are_a_finding() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let mut job = job("udp-rr", &topology, &[("wait", json!("spin"))]);
    job.shape.cpus = "same".parse().unwrap();
    let outcome = session.trial(&job, NEVER).unwrap();
    let expected = Finding::SpinsOnSharedCore { threads: 2, cores: 1 };
    assert!(outcome.findings.contains(&expected), "{:?}", outcome.findings);
}

#[test]
fn busy_polling_is_refused_where_no_card_has_a_queue() {
    for workload in ["tcp-rr", "udp-rr"] {
        let topology = loopback(1, 1);
        let mut session = Session::open(&topology).unwrap();
        let job = job(workload, &topology, &[("wait", json!("busy-poll"))]);
        let error = session.trial(&job, NEVER).unwrap_err().to_string();
        assert!(error.contains("wait busy-poll: packets come from no NAPI queue"), "{error}");
    }
}

#[test]
fn both_families_and_all_sizes_pass() {
    let address = Ipv6Addr::LOCALHOST.into();
    let here = |name: &str| Here { address, ..Here::new(name) };
    let topology = topology(vec![here("server-0")], vec![here("client-0")], free_port);
    let mut session = Session::open(&topology).unwrap();
    for workload in ["tcp-rr", "udp-rr"] {
        for (request, response) in [(1, 1), (1, 9000), (8, 1), (20, 20), (65_507, 3)] {
            let sizes = [("request", json!(request)), ("response", json!(response))];
            let mut job = job(workload, &topology, &sizes);
            job.shape.flows = 3;
            let outcome = session.trial(&job, NEVER).unwrap();
            sound(&outcome);
            assert!(outcome.ends.completed >= 3, "{workload} {request}/{response}");
            answered_in_time(&outcome, workload);
        }
    }
}

#[test]
fn one_way_is_told_where_a_request_has_room_for_its_time() {
    let topology = loopback(1, 2);
    let mut session = Session::open(&topology).unwrap();
    for workload in ["tcp-rr", "udp-rr"] {
        let mut job = job(workload, &topology, &[("request", json!(8))]);
        job.shape.flows = 2;
        let outcome = session.trial(&job, NEVER).unwrap();
        sound(&outcome);
        let there = all(&outcome, |interval| interval.one_way.as_ref());
        // Of each flow the first request tells when the trial began, and no time.
        let (least, most) = (outcome.ends.completed - 4 - 4, outcome.ends.completed - 4);
        assert!((least..=most).contains(&there.count()), "{} of {most}", there.count());
        let median = |histogram: &LatencyHistogram| histogram.quantile(0.5).unwrap();
        assert!(median(&there) < median(&round_trips(&outcome)), "{workload}");
        for series in &outcome.series {
            assert!(series.intervals.iter().all(|one| one.one_way.is_some()), "{workload}");
        }
        let small = session.trial(&common::job(workload, &topology, &[]), NEVER).unwrap();
        assert!(small.series[0].intervals.iter().all(|one| one.one_way.is_none()));
    }
}

#[test]
fn an_open_loop_does_what_is_due_and_no_more() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    for workload in ["tcp-rr", "udp-rr"] {
        for (wait, flows) in [("block", 1), ("spin", 1), ("block", 5), ("spin", 5)] {
            let asked = [("open_loop", json!("400")), ("wait", json!(wait))];
            let mut job = job(workload, &topology, &asked);
            job.shape.flows = flows;
            let outcome = session.trial(&job, NEVER).unwrap();
            // 120 are due in 0.3 s; a machine that is busy may not come to the last ones before the end.
            let done = outcome.ends.completed;
            assert!((1..=120).contains(&done), "{workload} {wait} {flows}: {done}");
            // Nor to the answers of what it has just sent.
            let answered = outcome.ends.answered;
            assert!(
                (done..=120).contains(&answered),
                "{workload} {wait} {flows}: {done} {answered}"
            );
        }
    }
}

#[test]
fn a_rate_that_cannot_be_had_is_said_with_what_was_had() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let job = job("tcp-rr", &topology, &[("open_loop", json!("50m"))]);
    let outcome = session.trial(&job, NEVER).unwrap();
    let slow = outcome.findings.iter().find_map(|one| match one {
        Finding::SenderTooSlow { asked, offered } => Some((*asked, *offered)),
        _ => None,
    });
    let (asked, offered) = slow.unwrap();
    assert_eq!(asked, 50e6);
    let done = outcome.ends.completed as f64 / 0.3;
    assert!((offered / done - 1.0).abs() < 0.01, "{offered} offered, {done} done");
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// The round trips of two seconds, in the middle of which an agent was stopped for 200 ms.
fn stopped(role: &str, asked: &[(&str, serde_json::Value)]) -> LatencyHistogram {
    let (server, client) = (Here::new("server-0"), Here::new("client-0"));
    let victim = Arc::clone(if role == "server" { &server.started } else { &client.started });
    let topology = topology(vec![server], vec![client], free_port);
    let mut session = Session::open(&topology).unwrap();
    let job = Job { duration: Nanos(2_000_000_000), ..job("tcp-rr", &topology, asked) };
    let polls = AtomicU32::new(0);
    let outcome = session.trial(&job, &|| {
        // Set-up takes a few polls of 20 ms; at the fortieth the traffic has been flowing for long.
        if polls.fetch_add(1, Ordering::Relaxed) == 40 {
            let victim = victim.lock().unwrap()[0];
            signal(victim, rustix::process::Signal::STOP);
            thread::sleep(Duration::from_millis(200));
            signal(victim, rustix::process::Signal::CONT);
        }
        false
    });
    round_trips(&outcome.unwrap())
}

#[test]
fn a_stall_is_seen_by_all_that_it_held_up_in_an_open_loop_and_by_one_in_a_closed_one() {
    const MS: u64 = 1_000_000;
    let open = [("open_loop", json!(500))];
    for role in ["server", "client"] {
        let latencies = stopped(role, &open);
        assert!(latencies.max().unwrap() >= 190 * MS, "{role}: {:?}", latencies.max());
        let tail = latencies.quantile(0.999).unwrap();
        assert!(tail >= 150 * MS, "{role}: {tail}");
        // Every one that was due meanwhile: 100 of 1000, of which half waited for 100 ms and more.
        let held = latencies.iter().filter(|(nanos, _)| *nanos >= 100 * MS);
        let held: u64 = held.map(|(_, count)| count).sum();
        assert!(held >= 40, "{role}: {held}");
    }
    let closed = stopped("server", &[]);
    assert!(closed.max().unwrap() >= 190 * MS);
    assert!(closed.quantile(0.999).unwrap() < 100 * MS, "{:?}", closed.quantile(0.999));
}

/// A trial of `udp-rr` during which a filter on one side drops 3 % of the requests at random.
fn filtered(side: &str, hook: &str) {
    let Some(pair) = Pair::new() else { return };
    let run = |line: &str| match side {
        "client" => pair.in_client(line),
        _ => pair.in_server(line),
    };
    run("nft add table inet t");
    run(&format!("nft add chain inet t c {{ type filter hook {hook} priority 0 ; }}"));
    // Introductions are longer, and responses come from the port.
    run("nft add rule inet t c udp dport 7001 udp length 9 numgen random mod 100 < 3 counter drop");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let mut job = job("udp-rr", &topology, &[]);
    job.shape.flows = 8;
    job.duration = Nanos(3_000_000_000);
    let outcome = session.trial(&job, NEVER).unwrap();
    sound(&outcome);
    let lost = outcome.ends.datagrams_sent - outcome.ends.datagrams_received;
    let rules = "nft list chain inet t c";
    let rules =
        if side == "client" { pair.read_in_client(rules) } else { pair.read_in_server(rules) };
    let words: Vec<&str> = rules.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "packets").unwrap();
    assert_eq!(lost, words[at + 1].parse::<u64>().unwrap(), "{side}");
    let datagrams = outcome.series[0].intervals.iter().map(|one| one.datagrams.unwrap());
    let (sent, received) =
        datagrams.fold((0, 0), |(sent, received), one| (sent + one.sent, received + one.received));
    let (expected, deviation) = (sent as f64 * 0.03, (sent as f64 * 0.03 * 0.97).sqrt());
    // Every flow's trial may end in the middle of a loss.
    let off = ((sent - received) as f64 - expected).abs();
    assert!(off < 3.3 * deviation + 8.0, "{side}: {} of {sent}", sent - received);
    // The lost ones have no latency.
    assert!(round_trips(&outcome).count() <= outcome.ends.completed);
    assert!(round_trips(&outcome).quantile(0.9).unwrap() < 100_000_000, "{side}");
}

#[test]
fn datagrams_that_a_filter_drops_are_counted_one_by_one_and_the_rest_goes_on() {
    filtered("server", "input");
    // Here the sender is told (EPERM): they are lost all the same.
    filtered("client", "output");
}

#[test]
fn datagrams_whose_path_is_cut_end_in_time() {
    let Some(pair) = Pair::new() else { return };
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let job = Job { duration: Nanos(2_000_000_000), ..job("udp-rr", &topology, &[]) };
    let polls = AtomicU32::new(0);
    let outcome = session.trial(&job, &|| {
        if polls.fetch_add(1, Ordering::Relaxed) == 30 {
            pair.in_client("ip link set eth0 down");
        }
        false
    });
    let outcome = outcome.unwrap();
    assert!(outcome.ends.completed > 0);
    assert!(outcome.ends.datagrams_sent > outcome.ends.datagrams_received);
    let stalled = outcome.findings.iter().any(|one| matches!(one, Finding::Stall { .. }));
    assert!(stalled, "{:?}", outcome.findings);
    assert_eq!(outcome.series[0].intervals.last().unwrap().operations, 0);
}

#[test]
fn idling_sends_nothing_and_has_intervals_all_the_same() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let job = job("idle", &topology, &[]);
    let outcome = session.trial(&job, NEVER).unwrap();
    sound(&outcome);
    assert_eq!(outcome.ends, tare_record::Ends::default());
    let intervals = &outcome.series[0].intervals;
    assert_eq!(intervals.len() as u64, job.duration.0 / job.interval.0);
    assert!(intervals.iter().all(|one| one.bytes + one.operations == 0 && one.latency.is_none()));
    assert!(outcome.epoch.is_some());
}
