//! Trials in slices: what is counted, that both ends and the kernel agree, and that nothing of a slice is left for the
//! next network's.

use crate::common::account::{CarriedPayload, PairAccounts};
use crate::common::counters::{Frames, counter};
use crate::common::filter::NftFilter;
use crate::common::{NEVER, assert_sound, job, open_session, open_session_with, pair_topology};
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};
use tare_agent::AgentSession;
use tare_dev::NamespacePair;
use tare_network::Topology;
use tare_record::{Interval, Nanos, SlicePlan};
use tare_traffic::{TrialJob, TrialOutcome};

const PLAN: SlicePlan =
    SlicePlan { rounds: 4, warm_up: 1, length: Nanos(20_000_000), skip: Nanos(1_000_000) };

/// Returns the job of a workload in slices.
fn sliced(workload: &str, topology: &Topology) -> TrialJob {
    TrialJob {
        duration: PLAN.duration(),
        interval: PLAN.length,
        slices: Some(PLAN),
        ..job(workload, topology, &[])
    }
}

/// Runs all slices of a job.
fn run_slices(session: &mut AgentSession, job: &TrialJob) -> TrialOutcome {
    session.begin_slices(job, NEVER).unwrap();
    for _ in 0..PLAN.slice_count() {
        session.run_slice(NEVER).unwrap();
    }
    session.finish_slices(NEVER).unwrap()
}

/// Returns the intervals of a trial's only client: one for each round, one after another in slice time.
fn rounds(outcome: &TrialOutcome) -> &[Interval] {
    assert_eq!(outcome.series.len(), 1);
    let intervals = &outcome.series[0].intervals;
    let starts: Vec<u64> = intervals.iter().map(|interval| interval.start.0).collect();
    assert_eq!(starts, [0, 20_000_000, 40_000_000, 60_000_000]);
    assert!(intervals.iter().all(|interval| interval.length == PLAN.length));
    intervals
}

#[test]
fn bulk_in_slices_is_counted_as_the_kernel_counts_it() {
    let pair = NamespacePair::new();
    let account = PairAccounts::open(&pair);
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, flows) in [("up", 1), ("up", 3), ("down", 1), ("down", 3), ("both", 2)] {
        let mut job = sliced("tcp-stream", &topology);
        job.shape.flows = flows;
        job.parameters.insert("direction".to_owned(), direction.into());
        let before = account.carried();
        let outcome = run_slices(&mut session, &job);
        // A byte of each flow down asks for each slice.
        let asked = if direction == "up" { 0 } else { flows * PLAN.slice_count() };
        CarriedPayload::assert_agrees(before, account.carried(), &outcome, asked.into());
        let counted: u64 = rounds(&outcome).iter().map(|interval| interval.bytes).sum();
        // The warm-up, and the beginning and the end of each slice, are in no interval.
        assert!((1..outcome.ends.received).contains(&counted), "{direction} {counted}");
        let senders = if direction == "both" { 2 * flows } else { flows };
        assert_eq!(rounds(&outcome)[0].tcp.unwrap().flows, senders, "{direction}");
        assert_sound(&outcome);
        for side in [&outcome.agents.clients, &outcome.agents.servers] {
            assert_eq!(side.len(), PLAN.rounds as usize);
        }
    }
}

#[test]
fn nothing_of_a_network_s_slice_moves_in_another_s() {
    let pairs = [NamespacePair::new(), NamespacePair::new()];
    // Neighbour discovery may send at any time.
    let _accounts: Vec<_> = pairs.iter().map(PairAccounts::open).collect();
    let topologies: Vec<Topology> = pairs.iter().map(pair_topology).collect();
    let mut sessions: Vec<AgentSession> =
        topologies.iter().map(|topology| open_session(topology).unwrap()).collect();
    for (session, topology) in sessions.iter_mut().zip(&topologies) {
        session.begin_slices(&sliced("tcp-stream", topology), NEVER).unwrap();
    }
    let arrived = |pair: &NamespacePair| Frames::received_by(&pair.server, "eth0");
    let first = [arrived(&pairs[0]), arrived(&pairs[1])];
    for slice in 0..PLAN.slice_count() {
        for (own, other) in [(0, 1), (1, 0)] {
            let before = arrived(&pairs[other]);
            sessions[own].run_slice(NEVER).unwrap();
            assert_eq!(arrived(&pairs[other]), before, "slice {slice}");
        }
    }
    for session in &mut sessions {
        let ends = session.finish_slices(NEVER).unwrap().ends;
        assert_eq!(ends.sent, ends.received);
    }
    // A busy machine may leave a slice without a packet, and not all of them.
    for (pair, first) in pairs.iter().zip(first) {
        assert!(arrived(pair).packets > first.packets);
    }
}

#[test]
fn servers_that_spin_sleep_in_others_slices() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    for (workload, flows) in
        [("tcp-rr", 1), ("udp-rr", 3), ("dns-rr", 3), ("udp-rate", 1), ("udp-rate", 2)]
    {
        let mut job = sliced(workload, &topology);
        job.shape.flows = flows;
        job.parameters.insert("wait".to_owned(), "spin".into());
        let mut session = open_session(&topology).unwrap();
        session.begin_slices(&job, NEVER).unwrap();
        for _ in 0..PLAN.slice_count() {
            session.run_slice(NEVER).unwrap();
            let (before, began) = (cpu_time(&session), Instant::now());
            thread::sleep(PLAN.length.into());
            let (spent, elapsed) = (cpu_time(&session) - before, began.elapsed());
            // A thread that spins has all of this time, or half of it beside others; one that sleeps has none.
            assert!(spent < elapsed / 10, "{workload}: {spent:?} of {elapsed:?}");
        }
        rounds(&session.finish_slices(NEVER).unwrap());
    }
}

/// Returns the CPU time of a session's agents, all threads together.
fn cpu_time(session: &AgentSession) -> Duration {
    let thread_time = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse().map(Duration::from_nanos).unwrap()
    };
    let tasks = |process: u32| std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    session.process_ids().into_iter().flat_map(tasks).map(|task| thread_time(task.unwrap())).sum()
}

#[test]
fn round_trips_in_slices_are_completed_and_answered() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    for (workload, flows, processes) in
        [("tcp-rr", 1, 1), ("tcp-rr", 3, 2), ("udp-rr", 1, 1), ("udp-rr", 3, 1)]
    {
        let mut session = open_session_with(&topology, processes).unwrap();
        let mut job = sliced(workload, &topology);
        // From 8 bytes on, the time from client to server is measured, too.
        for message in ["request", "response"] {
            job.parameters.insert(message.to_owned(), json!(16));
        }
        (job.shape.flows, job.shape.processes) = (flows, processes);
        let outcome = run_slices(&mut session, &job);
        let ends = outcome.ends;
        assert_eq!(ends.completed, ends.answered, "{workload}");
        let counted: u64 = rounds(&outcome).iter().map(|interval| interval.operations).sum();
        assert!((1..ends.completed).contains(&counted), "{workload}: {counted}");
        for interval in rounds(&outcome) {
            assert_eq!(interval.latency.as_ref().unwrap().count(), interval.operations);
        }
        let one_way = rounds(&outcome).iter().filter_map(|interval| interval.one_way.as_ref());
        assert!(one_way.map(|histogram| histogram.count()).sum::<u64>() > 0, "{workload}");
    }
}

#[test]
fn lookups_in_slices_are_completed_and_answered() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    for flows in [1, 3] {
        let mut session = open_session(&topology).unwrap();
        let mut job = sliced("dns-rr", &topology);
        job.shape.flows = flows;
        let outcome = run_slices(&mut session, &job);
        let ends = outcome.ends;
        assert_eq!(ends.completed, ends.answered);
        let counted: u64 = rounds(&outcome).iter().map(|interval| interval.operations).sum();
        assert!((1..ends.completed).contains(&counted), "{counted}");
    }
}

#[test]
fn connections_in_slices_are_established_and_accepted() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (flows, close) in [(1, "fin"), (3, "rst")] {
        let mut job = sliced("tcp-crr", &topology);
        job.parameters.insert("close".to_owned(), json!(close));
        job.shape.flows = flows;
        let before = counter(&pair.server, "Tcp", "PassiveOpens");
        let outcome = run_slices(&mut session, &job);
        let ends = outcome.ends;
        assert_eq!((ends.connected, ends.completed), (ends.accepted, ends.answered));
        // Each flow has a control connection, too.
        let opened = counter(&pair.server, "Tcp", "PassiveOpens") - before;
        assert_eq!(opened, ends.accepted + u64::from(flows));
        let counted: u64 = rounds(&outcome).iter().map(|interval| interval.operations).sum();
        assert!((1..ends.completed).contains(&counted), "{counted}");
        assert!(rounds(&outcome).iter().all(|interval| interval.connect.is_some()));
    }
}

#[test]
fn datagrams_in_slices_are_counted_when_they_were_sent() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    for (flows, filter) in [(1, false), (3, false), (2, true)] {
        // Announcements are shorter than the 8 and 64 bytes of header and payload.
        let rules = ["udp length 72 numgen inc mod 10 == 0 counter drop".to_owned()];
        let dropping = filter.then(|| NftFilter::new(&pair.server, "inet", "prerouting", &rules));
        let mut session = open_session(&topology).unwrap();
        let mut job = sliced("udp-rate", &topology);
        for (name, value) in [("rate", json!("20kpps")), ("size", json!(64))] {
            job.parameters.insert(name.to_owned(), value);
        }
        job.shape.flows = flows;
        let outcome = run_slices(&mut session, &job);
        let ends = outcome.ends;
        let dropped = dropping.map_or(0, |filter| filter.counts()[0].packets);
        assert_eq!(ends.datagrams_sent - ends.datagrams_received, dropped);
        assert_eq!(dropped > 0, filter);
        let of = |count: fn(&tare_record::DatagramCounts) -> u64| -> u64 {
            rounds(&outcome).iter().map(|interval| count(&interval.datagrams.unwrap())).sum()
        };
        let (sent, received) = (of(|counts| counts.sent), of(|counts| counts.received));
        // Twenty datagrams a millisecond: the beginnings of slices, and the warm-up, are in no interval.
        assert!((1..ends.datagrams_sent).contains(&sent), "{sent}");
        assert!(sent - received <= dropped, "{sent} sent, {received} received");
        assert!(filter || sent == received, "{sent} sent, {received} received");
    }
}

#[test]
fn no_transaction_is_due_between_slices() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let mut job = sliced("tcp-rr", &topology);
    job.parameters.insert("open_loop".to_owned(), json!(1_000.0));
    let outcome = run_slices(&mut open_session(&topology).unwrap(), &job);
    // A thousand a second for 5 slices of 21 ms: none is due between them. A machine that is busy at the end makes fewer.
    assert!((1..=105).contains(&outcome.ends.completed), "{}", outcome.ends.completed);
}

#[test]
fn orders_that_do_not_fit_a_trial_are_refused() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let refused = |ran: Result<(), tare_traffic::Error>| ran.unwrap_err().to_string();
    let mut session = open_session(&topology).unwrap();
    assert!(refused(session.run_slice(NEVER)).contains("cannot run this workload in slices"));
    session.begin_slices(&sliced("idle", &topology), NEVER).unwrap();
    assert!(refused(session.run_slice(NEVER)).contains("cannot run this workload in slices"));
    let why = refused(session.begin_slices(&sliced("tcp-rr", &topology), NEVER));
    assert!(why.contains("set up the network again"), "{why}");
}
