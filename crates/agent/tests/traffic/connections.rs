//! Connections that are made, used once and closed: they agree with the kernel's counters, and failures are reported.

use crate::common::counters::{counter, time_wait};
use crate::common::{
    NEVER, PORT, agent, assert_sound, job, lone_namespace, loopback, open_session, pair_topology,
};
use serde_json::json;
use std::net::Ipv6Addr;
use tare_dev::{AgentContainer, NamespacePair, topology};
use tare_record::finding::{PortExhaustion, TimeWaitOverflow};
use tare_record::{Finding, LatencyHistogram};
use tare_traffic::TrialOutcome;

/// Connections in progress at once.
const SLOTS: u64 = 8;

fn agreed(outcome: &TrialOutcome) {
    assert!(outcome.ends.completed > 0);
    assert_eq!(outcome.ends.connected, outcome.ends.accepted);
    assert_eq!(outcome.ends.completed, outcome.ends.answered);
    assert_eq!(outcome.ends.completed, outcome.ends.connected);
}

#[test]
fn the_kernel_counts_as_many_connections_and_what_stays_is_the_servers() {
    for close in ["fin", "rst"] {
        let pair = NamespacePair::new();
        let topology = pair_topology(&pair);
        let mut session = open_session(&topology).unwrap();
        let asked = [("close", json!(close)), ("threads", json!(1)), ("slots", json!(SLOTS))];
        let job = job("tcp-crr", &topology, &asked);
        let outcome = session.run_trial(&job, NEVER).unwrap();
        agreed(&outcome);
        assert_sound(&outcome);
        // The control connection is one of the accepted ones.
        let all = outcome.ends.accepted + 1;
        assert_eq!(counter(&pair.server, "Tcp", "PassiveOpens"), all, "{close}");
        assert_eq!(counter(&pair.client, "Tcp", "ActiveOpens"), all, "{close}");
        let waiting = [&pair.client, &pair.server].map(time_wait);
        if close == "rst" {
            // Only the control connection is closed in order.
            assert!(waiting.iter().sum::<u64>() <= 1, "{waiting:?}");
        } else {
            // At most the client's control connection. Not all of the server's: a new connection from the same port
            // replaces the one in TIME_WAIT (RFC 6191).
            let [client, server] = waiting;
            assert!(client <= 1 && server <= all && 2 * server > all, "{waiting:?} of {all}");
        }
        let (mut whole, mut connect) =
            (LatencyHistogram::new().unwrap(), LatencyHistogram::new().unwrap());
        for interval in &outcome.series[0].intervals {
            let latency = interval.latency.as_ref().unwrap();
            assert_eq!(latency.count(), interval.operations);
            whole.merge(latency).unwrap();
            connect.merge(interval.connect.as_ref().unwrap()).unwrap();
        }
        // No connect time exceeds the time of its whole transaction: at least half of the transactions are as long as
        // half of the connects, except for those in progress at the end. Histograms keep three digits.
        assert!(connect.count() - whole.count() <= SLOTS, "{close}");
        let median = connect.quantile(0.5).unwrap();
        let longer = whole.iter().filter(|(nanos, _)| *nanos >= median / 1000 * 998);
        let longer: u64 = longer.map(|(_, count)| count).sum();
        assert!(longer >= (connect.count() / 2).saturating_sub(SLOTS), "{close}: {longer}");
    }
}

#[test]
fn flows_threads_slots_and_sizes_are_all_served() {
    let topology = loopback(2);
    let mut session = open_session(&topology).unwrap();
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
        let outcome = session.run_trial(&job, NEVER).unwrap();
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
    let namespace = lone_namespace();
    let here = |name: &str| {
        AgentContainer::new(name, &agent()).in_namespace(&namespace, Ipv6Addr::LOCALHOST.into())
    };
    let topology = topology(vec![here("server-0")], vec![here("client-0")], |_| PORT);
    let mut session = open_session(&topology).unwrap();
    let outcome = session.run_trial(&job("tcp-crr", &topology, &[]), NEVER).unwrap();
    agreed(&outcome);
    assert_eq!(counter(&namespace, "Tcp", "PassiveOpens"), outcome.ends.accepted + 1);
}

#[test]
fn a_want_of_ports_is_said_and_the_rest_goes_on() {
    let pair = NamespacePair::new();
    // Six ports, of which the control connection has one: too few for sixteen connections at once.
    pair.client.run("sysctl -q -w net.ipv4.ip_local_port_range=40000\t40005");
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    let job = job("tcp-crr", &topology, &[("slots", json!(16))]);
    let outcome = session.run_trial(&job, NEVER).unwrap();
    agreed(&outcome);
    let times = outcome.findings.iter().find_map(|one| match one {
        Finding::PortExhaustion(PortExhaustion { times }) => Some(*times),
        _ => None,
    });
    assert!(times.is_some_and(|times| times > 0), "{:?}", outcome.findings);
}

#[test]
fn an_overflow_of_those_in_time_wait_is_said_as_the_kernel_counts_it() {
    let pair = NamespacePair::new();
    pair.server.run("sysctl -q -w net.ipv4.tcp_max_tw_buckets=5");
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    let outcome = session.run_trial(&job("tcp-crr", &topology, &[]), NEVER).unwrap();
    agreed(&outcome);
    let said = outcome.findings.iter().find_map(|one| match one {
        Finding::TimeWaitOverflow(TimeWaitOverflow { overflowed }) => Some(*overflowed),
        _ => None,
    });
    // The control connection may be closed after the server has looked.
    let kernel = counter(&pair.server, "TcpExt", "TCPTimeWaitOverflow");
    let said = said.unwrap();
    assert!(said > 0 && (said..=said + 1).contains(&kernel), "{said} of {kernel}");
}
