//! `tcp-stream` in all its modes, over a path of its own: its counts agree with the kernel's.

use crate::common::account::{CarriedPayload, PairAccounts};
use crate::common::counters::sent_again;
use crate::common::filter::NftFilter;
use crate::common::shaper::{ShaperCounters, shape};
use crate::common::{
    NEVER, job, loopback, monotonic, open_session, open_session_with, pair_topology, recorded_trial,
};
use serde_json::{Value, json};
use std::cell::RefCell;
use tare_dev::{NamespacePair, eventually};
use tare_network::Topology;
use tare_record::{Finding, Interval, Nanos, Placement, TcpInfoTotals};
use tare_traffic::{TrialJob, TrialOutcome};

/// Directions of the payload, the number of directions at once, and the bytes by which each flow begins.
const DIRECTIONS: [(&str, u32, u64); 3] = [("up", 1, 0), ("down", 1, 1), ("both", 2, 1)];

fn stream(topology: &Topology, asked: &[(&str, &str)]) -> TrialJob {
    let asked: Vec<(&str, Value)> =
        asked.iter().map(|(name, value)| (*name, Value::from(*value))).collect();
    job("tcp-stream", topology, &asked)
}

fn intervals(outcome: &TrialOutcome) -> &[Interval] {
    assert_eq!(outcome.series.len(), 1, "both ends' series of a client are one");
    &outcome.series[0].intervals
}

fn states(outcome: &TrialOutcome) -> Vec<TcpInfoTotals> {
    intervals(outcome).iter().map(|interval| interval.tcp.unwrap()).collect()
}

#[test]
fn in_every_mode_both_ends_and_the_kernel_count_the_same() {
    let pair = NamespacePair::new();
    let account = PairAccounts::open(&pair);
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, _, begin) in DIRECTIONS {
        for send in ["copy", "vmsplice", "sendfile"] {
            for (receive, flows) in [("copy", 1), ("drop", 3)] {
                let asked = [("direction", direction), ("send", send), ("receive", receive)];
                let mut job = stream(&topology, &asked);
                job.shape.flows = flows;
                let mode = format!("{direction} {send} {receive}");
                // On a busy machine the receiver may wait for the CPU as long as a whole trial takes.
                eventually(&format!("{mode}: traffic is in the intervals"), || {
                    let before = account.carried();
                    let outcome = session.run_trial(&job, NEVER).unwrap();
                    CarriedPayload::assert_agrees(
                        before,
                        account.carried(),
                        &outcome,
                        u64::from(flows) * begin,
                    );
                    for (name, value) in asked {
                        assert_eq!(outcome.parameters[name], json!(value), "{mode}");
                    }
                    let recorded: u64 = intervals(&outcome).iter().map(|one| one.bytes).sum();
                    let payload = outcome.ends.received;
                    assert!(recorded <= payload, "{mode}: {recorded} of {payload}");
                    recorded > 0
                });
            }
        }
    }
}

#[test]
fn a_shaped_path_carries_what_its_shaper_says() {
    let pair = NamespacePair::new();
    for end in [&pair.client, &pair.server] {
        shape(end, "rate 100mbit burst 32kb latency 50ms");
    }
    let account = PairAccounts::open(&pair);
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    // A shaper counts a group of segments as it is on the wire, a device counts it as one frame. Both have one header
    // for each packet, of 66 bytes if it carries payload.
    let payload = |bytes: u64, packets: u64| bytes.cast_signed() - 66 * packets.cast_signed();
    let shaped = || {
        let shaped = ShaperCounters::read(&pair.client);
        payload(shaped.bytes, shaped.packets)
    };
    let arrived = || {
        let arrived = account.frames_to_server();
        payload(arrived.bytes, arrived.packets)
    };
    for (flows, (direction, _, begin)) in [1, 4].into_iter().zip(DIRECTIONS.into_iter().cycle()) {
        let mut job = stream(&topology, &[("direction", direction)]);
        job.shape.flows = flows;
        job.duration = Nanos(1_000_000_000);
        let (before, left, came) = (account.carried(), shaped(), arrived());
        let outcome = session.run_trial(&job, NEVER).unwrap();
        CarriedPayload::assert_agrees(
            before,
            account.carried(),
            &outcome,
            u64::from(flows) * begin,
        );
        eventually("what left the shaper arrived", || {
            let (left, came) = (shaped() - left, arrived() - came);
            if left == came { Ok(()) } else { Err(format!("{flows} {direction}: {left}, {came}")) }
        });
    }
}

#[test]
fn what_is_sent_again_is_seen_as_the_kernel_sees_it() {
    let pair = NamespacePair::new();
    for end in [&pair.client, &pair.server] {
        // Only payload is dropped: no greeting, no acknowledgement.
        let rule = "meta length > 1000 numgen random mod 100 < 1 drop";
        NftFilter::new(end, "ip", "input", &[rule]);
    }
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, ways, _) in DIRECTIONS {
        let mut job = stream(&topology, &[("direction", direction), ("threads", "1")]);
        job.duration = Nanos(1_000_000_000);
        job.shape.flows = 2;
        let before = sent_again(&pair);
        let counted = RefCell::new(Vec::new());
        let outcome = session.run_trial(&job, &|| {
            let again = sent_again(&pair) - before;
            counted.borrow_mut().push((monotonic(), again));
            false
        });
        let (outcome, kernel) = (outcome.unwrap(), sent_again(&pair) - before);
        let states = states(&outcome);
        let seen: u64 = states.iter().map(|state| state.retransmits).sum();
        // The outcome has no more retransmissions than the kernel, and all of those before the end of the last interval
        // that was read. Retransmissions after that, until all data have arrived, are in the kernel's counter only.
        // With two sending sides it is unknown which of them was read.
        let asked = states.iter().rposition(|state| state.asking.0 > 0).unwrap();
        let end = outcome.epoch.unwrap() + Nanos((asked as u64 + 1) * job.interval.0);
        let counted = counted.into_inner();
        let until = counted.iter().rfind(|(time, _)| *time < end && ways == 1);
        let least = until.map_or(1, |(_, again)| (*again).max(1));
        assert!((least..=kernel).contains(&seen), "{direction}: {least} {seen} {kernel}");
        for state in states {
            assert_eq!(state.flows, 2 * ways, "{direction}");
            assert!(state.rtt.0 > 0 && state.window > 0, "{direction}: {state:?}");
        }
        assert_eq!(outcome.ends.sent, outcome.ends.received, "{direction}");
    }
}

#[test]
fn threads_and_processes_of_a_client_make_one_series() {
    for (direction, ways, _) in DIRECTIONS {
        let topology = loopback(1);
        let mut session = open_session_with(&topology, 2).unwrap();
        let mut job = stream(&topology, &[("direction", direction), ("threads", "3")]);
        job.shape.processes = 2;
        job.shape.flows = 4;
        job.shape.cpus = Placement::Free;
        let before = monotonic();
        let outcome = session.run_trial(&job, NEVER).unwrap();
        assert_eq!(outcome.ends.sent, outcome.ends.received);
        assert!(states(&outcome).iter().all(|state| state.flows == 8 * ways), "{direction}");
        let recorded: u64 = intervals(&outcome).iter().map(|one| one.bytes).sum();
        assert!(recorded <= outcome.ends.received);
        assert!(outcome.epoch.is_some_and(|epoch| (before..monotonic()).contains(&epoch)));
    }
}

#[test]
fn cpu_is_known_by_side_and_interval_and_adds_up() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, _, _) in DIRECTIONS {
        let job = stream(&topology, &[("direction", direction)]);
        let outcome = recorded_trial(&mut session, &job);
        let mut all = 0;
        for side in [&outcome.agents.clients, &outcome.agents.servers] {
            assert_eq!(side.len() as u64, job.duration.0 / job.interval.0, "{direction}");
            let used: u64 = side.iter().map(|row| row.user.0 + row.system.0).sum();
            // One thread for each side; the kernel's figures of one may lag by a tick.
            assert!(used > 0 && used <= job.duration.0 + 10_000_000, "{direction}: {used}");
            all += used;
        }
        assert!(all <= outcome.agents_cpu.0 + 20_000_000, "{direction}: {all}");
    }
}

#[test]
fn what_is_asked_of_the_sockets_is_in_force_on_both_ends() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, _, _) in DIRECTIONS {
        // Every kernel has reno, and every namespace allows it (tcp(7)).
        let asked = [
            ("direction", direction),
            ("congestion", "reno"),
            ("buffer", "64K"),
            ("no_delay", "true"),
            ("size", "1000"),
        ];
        let outcome = session.run_trial(&stream(&topology, &asked), NEVER).unwrap();
        let used = &outcome.parameters;
        assert_eq!(used["congestion"], json!("reno"));
        assert_eq!(
            (&used["send_buffer"], &used["receive_buffer"]),
            (&json!(65_536), &json!(65_536))
        );
        assert_eq!((&used["no_delay"], &used["size"]), (&json!(true), &json!(1000)));
        assert!(used.keys().all(|name| !name.starts_with("server_") || name == "server_cores"));
        let refused = outcome.findings.iter().find(|one| {
            matches!(one, Finding::OtherCongestionControl(_) | Finding::SmallBuffer(_))
        });
        assert_eq!(refused, None);
        assert_eq!(outcome.ends.sent, outcome.ends.received);
    }
}
