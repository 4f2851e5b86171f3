//! `tcp-stream` in all its ways, over a path of the test's own: what it says is what the kernel says.
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

mod common;

use common::counters::{Received, device_received, sent_again};
use common::namespaces::Pair;
use common::rates::{one_is_within, settled_rate};
use common::{job, loopback, topology};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use tare_network::Topology;
use tare_record::{Finding, Interval, Nanos, Placement, TcpState};
use tare_traffic::{Job, Outcome, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

/// The ways in which payload can go, and in how many of them it goes at once.
const DIRECTIONS: [(&str, u32); 3] = [("up", 1), ("down", 1), ("both", 2)];

fn over(pair: &Pair) -> Topology {
    topology(vec![pair.server()], vec![pair.client()], |_| 7001)
}

fn stream(topology: &Topology, asked: &[(&str, &str)]) -> Job {
    let asked: Vec<(&str, Value)> =
        asked.iter().map(|(name, value)| (*name, Value::from(*value))).collect();
    job("tcp-stream", topology, &asked)
}

fn intervals(outcome: &Outcome) -> &[Interval] {
    assert_eq!(outcome.series.len(), 1, "both ends' series of a client are one");
    &outcome.series[0].intervals
}

fn states(outcome: &Outcome) -> Vec<TcpState> {
    intervals(outcome).iter().map(|interval| interval.tcp.unwrap()).collect()
}

#[test]
fn in_every_mode_both_ends_and_the_kernel_count_the_same() {
    let Some(pair) = Pair::new() else { return };
    let topology = over(&pair);
    let mut session = Session::open(&topology).unwrap();
    for (direction, _) in DIRECTIONS {
        for send in ["copy", "vmsplice", "sendfile"] {
            for (receive, flows) in [("copy", 1), ("drop", 3)] {
                let asked = [("direction", direction), ("send", send), ("receive", receive)];
                let mut job = stream(&topology, &asked);
                job.shape.flows = flows;
                let before = Received::by(&pair);
                let outcome = session.trial(&job, NEVER).unwrap();
                let after = Received::by(&pair);
                let mode = format!("{direction} {send} {receive}");
                for (name, value) in asked {
                    assert_eq!(outcome.parameters[name], json!(value), "{mode}");
                }
                let payload = outcome.ends.received;
                assert!(payload > 10_000_000, "{mode}: {payload} bytes");
                assert_eq!(outcome.ends.sent, payload, "{mode}");
                let recorded: u64 = intervals(&outcome).iter().map(|one| one.bytes).sum();
                assert!(recorded > payload / 2 && recorded <= payload, "{mode}: {recorded}");
                for counted in [after.device - before.device, after.ip - before.ip] {
                    let share = counted as f64 / payload as f64;
                    assert!((0.99..1.01).contains(&share), "{mode}: {counted} for {payload}");
                }
            }
        }
    }
}

#[test]
fn a_path_of_100_mbit_per_second_carries_what_headers_leave_either_way() {
    let Some(pair) = Pair::new() else { return };
    let shaper = "tc qdisc add dev eth0 root tbf rate 100mbit burst 32kb latency 50ms";
    pair.in_client(shaper);
    pair.in_server(shaper);
    let topology = over(&pair);
    let mut session = Session::open(&topology).unwrap();
    for (direction, ways) in DIRECTIONS {
        let mut job = stream(&topology, &[("direction", direction)]);
        job.duration = Nanos(2_500_000_000);
        job.interval = Nanos(50_000_000);
        // A full frame has 1448 bytes of payload in 1514. Where both ways are full, an acknowledgement of 66 bytes for
        // every other frame takes its room too (RFC 5681, section 4.2).
        let acknowledgements = if ways == 2 { 33.0 } else { 0.0 };
        let expected = 0.1 * f64::from(ways) * 1448.0 / (1514.0 + acknowledgements);
        one_is_within(0.97..=1.03, &format!("{direction}, of {expected} Gbit/s"), || {
            let outcome = session.trial(&job, NEVER).unwrap();
            assert_eq!(outcome.ends.sent, outcome.ends.received, "{direction}");
            settled_rate(&outcome) / expected
        });
    }
}

#[test]
fn what_is_sent_again_is_seen_as_the_kernel_sees_it() {
    let Some(pair) = Pair::new() else { return };
    for line in [
        "nft add table ip lossy",
        "nft add chain ip lossy input { type filter hook input priority 0 ; }",
        // Nothing but payload is lost: no greeting, no acknowledgement.
        "nft add rule ip lossy input meta length > 1000 numgen random mod 100 < 1 drop",
    ] {
        pair.in_client(line);
        pair.in_server(line);
    }
    let topology = over(&pair);
    let mut session = Session::open(&topology).unwrap();
    for (direction, ways) in DIRECTIONS {
        let mut job = stream(&topology, &[("direction", direction)]);
        job.duration = Nanos(1_000_000_000);
        job.shape.flows = 2;
        let before = sent_again(&pair);
        let outcome = session.trial(&job, NEVER).unwrap();
        let kernel = sent_again(&pair) - before;
        let states = states(&outcome);
        let seen: u64 = states.iter().map(|state| state.retransmits).sum();
        // What is sent again after the trial's end, until all has come, is the kernel's alone.
        assert!(seen > 0 && seen <= kernel, "{direction}: {seen} of {kernel}");
        assert!(seen >= kernel / 2, "{direction}: {seen} of {kernel}");
        for state in states {
            assert_eq!(state.flows, 2 * ways, "{direction}");
            assert!(state.rtt.0 > 0 && state.window > 0, "{direction}: {state:?}");
        }
        assert_eq!(outcome.ends.sent, outcome.ends.received, "{direction}");
    }
}

#[test]
fn threads_and_processes_of_a_client_make_one_series() {
    for (direction, ways) in DIRECTIONS {
        let topology = loopback(1, 1);
        let mut session = Session::with_processes(&topology, 2).unwrap();
        let mut job = stream(&topology, &[("direction", direction), ("threads", "3")]);
        job.shape.processes = 2;
        job.shape.flows = 4;
        job.shape.cpus = Placement::Free;
        let before = monotonic();
        let outcome = session.trial(&job, NEVER).unwrap();
        assert_eq!(outcome.ends.sent, outcome.ends.received);
        assert!(states(&outcome).iter().all(|state| state.flows == 8 * ways), "{direction}");
        let recorded: u64 = intervals(&outcome).iter().map(|one| one.bytes).sum();
        assert!(recorded > 0 && recorded <= outcome.ends.received);
        assert!(outcome.epoch.is_some_and(|epoch| (before..monotonic()).contains(&epoch)));
    }
}

fn monotonic() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[test]
fn cpu_is_known_by_side_and_interval_and_adds_up() {
    let Some(pair) = Pair::new() else { return };
    let topology = over(&pair);
    let mut session = Session::open(&topology).unwrap();
    for (direction, _) in DIRECTIONS {
        let job = stream(&topology, &[("direction", direction)]);
        let outcome = session.trial(&job, NEVER).unwrap();
        let mut all = 0;
        for side in [&outcome.agents.clients, &outcome.agents.servers] {
            assert_eq!(side.len() as u64, job.duration.0 / job.interval.0, "{direction}");
            let used: u64 = side.iter().map(|row| row.user.0 + row.system.0).sum();
            // The kernel's figures of one thread may lag by a tick.
            assert!(used > 0 && used <= job.duration.0 + 10_000_000, "{direction}: {used}");
            all += used;
        }
        assert!(all <= outcome.agents_cpu.0 + 20_000_000, "{direction}: {all}");
    }
}

#[test]
fn what_is_asked_of_the_sockets_is_in_force_on_both_ends() {
    let Some(pair) = Pair::new() else { return };
    let topology = over(&pair);
    let mut session = Session::open(&topology).unwrap();
    for (direction, _) in DIRECTIONS {
        // Every kernel has reno, and every namespace allows it (tcp(7)).
        let asked = [
            ("direction", direction),
            ("congestion", "reno"),
            ("buffer", "64K"),
            ("no_delay", "true"),
            ("size", "1000"),
        ];
        let outcome = session.trial(&stream(&topology, &asked), NEVER).unwrap();
        let used = &outcome.parameters;
        assert_eq!(used["congestion"], json!("reno"));
        assert_eq!(
            (&used["send_buffer"], &used["receive_buffer"]),
            (&json!(65_536), &json!(65_536))
        );
        assert_eq!((&used["no_delay"], &used["size"]), (&json!(true), &json!(1000)));
        assert!(used.keys().all(|name| !name.starts_with("server_") || name == "server_cores"));
        let refused = outcome.findings.iter().find(|one| {
            matches!(one, Finding::OtherCongestionControl { .. } | Finding::SmallBuffer { .. })
        });
        assert_eq!(refused, None);
        assert_eq!(outcome.ends.sent, outcome.ends.received);
    }
}

/// A trial during which the path is cut: it must end in time, with what was counted, and say what happened.
fn cut_in_the_middle(direction: &str) {
    let Some(pair) = Pair::new() else { return };
    let topology = over(&pair);
    let mut session = Session::open(&topology).unwrap();
    let job = stream(&topology, &[("direction", direction)]);
    let job = Job { duration: Nanos(2_000_000_000), ..job };
    let cut = AtomicBool::new(false);
    let outcome = session.trial(&job, &|| {
        // A megabyte is no set-up: the traffic flows.
        let flows = || device_received(&pair.client_file("dev")).0 > 1_000_000;
        if !cut.load(Ordering::Relaxed) && flows() {
            pair.in_client("ip link set eth0 down");
            cut.store(true, Ordering::Relaxed);
        }
        false
    });
    let outcome = outcome.unwrap();
    assert!(outcome.ends.received > 0, "before the cut");
    assert!(outcome.findings.iter().any(|one| matches!(one, Finding::Stall { .. })));
    let whole = intervals(&outcome);
    assert_eq!(whole.len() as u64, job.duration.0 / job.interval.0);
    assert_eq!(whole.last().unwrap().bytes, 0);
}

#[test]
fn a_stream_down_whose_path_is_cut_ends_and_says_so() {
    cut_in_the_middle("down");
}

#[test]
fn streams_both_ways_whose_path_is_cut_end_and_say_so() {
    cut_in_the_middle("both");
}
