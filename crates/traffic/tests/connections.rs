//! Connections made, used once and closed: they are what the kernel counts, and what goes wrong is said.
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

mod common;

use common::namespaces::Pair;
use common::{Here, free_port, job, loopback, topology};
use serde_json::json;
use std::net::Ipv6Addr;
use tare_record::{Finding, Nanos};
use tare_traffic::{Job, Outcome, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

/// A counter of /proc/net/snmp: of each group one line has the names, the next one the values.
fn counter(text: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split_whitespace().position(|one| one == name).unwrap();
    values.split_whitespace().nth(at).unwrap().parse().unwrap()
}

/// Connections in TIME_WAIT, of /proc/net/sockstat.
fn time_wait(text: &str) -> u64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "tw").unwrap();
    words[at + 1].parse().unwrap()
}

fn agreed(outcome: &Outcome) {
    assert!(outcome.ends.completed > 0);
    assert_eq!(outcome.ends.connected, outcome.ends.accepted);
    assert_eq!(outcome.ends.completed, outcome.ends.answered);
    assert_eq!(outcome.ends.completed, outcome.ends.connected);
}

#[test]
fn the_kernel_counts_as_many_connections_and_what_stays_is_the_servers() {
    for close in ["fin", "rst"] {
        let Some(pair) = Pair::new() else { return };
        let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
        let mut session = Session::open(&topology).unwrap();
        let opened = || counter(&pair.server_file("snmp"), "PassiveOpens");
        let before = opened();
        let job = job("tcp-crr", &topology, &[("close", json!(close))]);
        let outcome = session.trial(&job, NEVER).unwrap();
        agreed(&outcome);
        assert_eq!(outcome.findings, [], "{close}");
        // The control connection is one of them.
        assert_eq!(opened() - before, outcome.ends.accepted + 1, "{close}");
        let (client, server) =
            (time_wait(&pair.client_file("sockstat")), time_wait(&pair.server_file("sockstat")));
        if close == "rst" {
            assert!(client + server <= 1, "{client} {server}");
        } else {
            // Not all: a new connection from the same port takes the place of the one that waits (RFC 6191).
            assert!(
                server > 10 * client && 2 * server > outcome.ends.accepted,
                "{client} {server}"
            );
        }
        for interval in &outcome.series[0].intervals {
            let [whole, connect] =
                [&interval.latency, &interval.connect].map(|one| one.as_ref().unwrap());
            assert_eq!(whole.count(), interval.operations);
            assert!(connect.quantile(0.5) <= whole.quantile(0.5), "{close}");
        }
    }
}

#[test]
fn flows_threads_slots_and_sizes_are_all_served() {
    let topology = loopback(1, 2);
    let mut session = Session::open(&topology).unwrap();
    for (flows, threads, slots, request, response) in
        [(1, 1, 1, 1, 1), (4, 2, 3, 8, 70_000), (2, 2, 16, 700_000, 9)]
    {
        let asked = [
            ("threads", json!(threads)),
            ("slots", json!(slots)),
            ("request", json!(request)),
            ("response", json!(response)),
        ];
        let mut job = job("tcp-crr", &topology, &asked);
        job.shape.flows = flows;
        let outcome = session.trial(&job, NEVER).unwrap();
        agreed(&outcome);
        assert_eq!(outcome.series.len(), 2);
        let recorded: u64 =
            outcome.series.iter().flat_map(|one| &one.intervals).map(|one| one.operations).sum();
        let after = outcome.ends.completed - recorded;
        assert!(after <= 2 * threads * slots, "{after} after the end");
    }
}

#[test]
fn connections_over_ipv6() {
    let address = Ipv6Addr::LOCALHOST.into();
    let here = |name: &str| Here { address, ..Here::new(name) };
    let topology = topology(vec![here("server-0")], vec![here("client-0")], free_port);
    let mut session = Session::open(&topology).unwrap();
    agreed(&session.trial(&job("tcp-crr", &topology, &[]), NEVER).unwrap());
}

#[test]
fn a_want_of_ports_is_said_and_the_rest_goes_on() {
    let Some(pair) = Pair::new() else { return };
    // Six ports, of which the control connection has one.
    pair.in_client("sysctl -q -w net.ipv4.ip_local_port_range=40000\t40005");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let job = job("tcp-crr", &topology, &[("slots", json!(16))]);
    let outcome = session.trial(&job, NEVER).unwrap();
    agreed(&outcome);
    let times = outcome.findings.iter().find_map(|one| match one {
        Finding::PortsExhausted { times } => Some(*times),
        _ => None,
    });
    assert!(times.is_some_and(|times| times > 0), "{:?}", outcome.findings);
}

#[test]
fn an_overflow_of_those_in_time_wait_is_said() {
    let Some(pair) = Pair::new() else { return };
    pair.in_server("sysctl -q -w net.ipv4.tcp_max_tw_buckets=5");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    let outcome = session.trial(&job("tcp-crr", &topology, &[]), NEVER).unwrap();
    agreed(&outcome);
    let over =
        |one: &Finding| matches!(one, Finding::TimeWaitOverflow { overflowed } if *overflowed > 0);
    assert!(outcome.findings.iter().any(over), "{:?}", outcome.findings);
}

#[test]
fn a_strangers_connection_disturbs_nobody() {
    let topology = loopback(1, 1);
    let listen = topology.routes[0].listen;
    let mut session = Session::open(&topology).unwrap();
    let job = Job { duration: Nanos(600_000_000), ..job("tcp-crr", &topology, &[]) };
    let stranger = std::cell::RefCell::new(None);
    let polls = std::cell::Cell::new(0);
    let outcome = session
        .trial(&job, &|| {
            polls.set(polls.get() + 1);
            if polls.get() == 15 {
                // It says nothing, and stays.
                stranger.replace(Some(std::net::TcpStream::connect(listen).unwrap()));
            }
            false
        })
        .unwrap();
    assert!(stranger.borrow().is_some());
    assert_eq!(outcome.ends.completed, outcome.ends.answered);
    assert_eq!(outcome.ends.connected + 1, outcome.ends.accepted);
    let differ = |one: &Finding| matches!(one, Finding::EndsDisagree { .. });
    assert!(outcome.findings.iter().any(differ), "{:?}", outcome.findings);
}
