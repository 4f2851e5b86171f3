//! End-to-end datagrams, with real agents: the counts of both ends agree with the kernel's.

use crate::common::counters::{Frames, counter, found_full};
use crate::common::filter::{NftFilter, RuleCount};
use crate::common::peer::PeerProgram;
use crate::common::{
    NEVER, PORT, agent, job, lone_namespace, loopback, loopback_of, offered_rate, open_session,
    open_session_with, pair_topology,
};
use serde_json::{Value, json};
use tare_dev::{NamespacePair, TestNamespace, eventually, topology};
use tare_network::Topology;
use tare_record::finding::SocketDrops;
use tare_record::{DatagramCounts, Finding, Nanos};
use tare_traffic::{TrialJob, TrialOutcome};

pub(crate) const MS: u64 = 1_000_000;

/// Rules that count the datagrams that announce flows, which have a sequence number of all ones (`ANNOUNCEMENT`), and
/// those with payload (`PAYLOAD`).
pub(crate) const ANNOUNCEMENT: &str = "udp dport 7001 @th,128,64 0xffffffffffffffff counter accept";
pub(crate) const PAYLOAD: &str = "udp dport 7001 counter accept";

/// Runs one trial over a topology.
pub(crate) fn trial(
    topology: &Topology,
    duration: u64,
    flows: u32,
    asked: &[(&str, Value)],
) -> TrialOutcome {
    let mut session = open_session(topology).unwrap();
    let mut job = TrialJob { duration: Nanos(duration), ..job("udp-rate", topology, asked) };
    job.shape.flows = flows;
    session.run_trial(&job, NEVER).unwrap()
}

/// Adds up all intervals.
pub(crate) fn sum(outcome: &TrialOutcome) -> DatagramCounts {
    let all = outcome.series.iter().flat_map(|series| &series.intervals);
    all.filter_map(|interval| interval.datagrams).fold(DatagramCounts::default(), |sum, one| {
        DatagramCounts {
            sent: sum.sent + one.sent,
            sent_bytes: sum.sent_bytes + one.sent_bytes,
            received: sum.received + one.received,
            duplicates: sum.duplicates + one.duplicates,
            reordered: sum.reordered + one.reordered,
            jitter: sum.jitter.max(one.jitter),
        }
    })
}

/// Returns the datagrams that were dropped at the receiver's full buffers, and the number sent, as the finding states
/// them.
pub(crate) fn dropped_at_socket(outcome: &TrialOutcome) -> Option<(u64, u64)> {
    outcome.findings.iter().find_map(|finding| match finding {
        Finding::SocketDrops(SocketDrops { dropped, of }) => Some((*dropped, *of)),
        _ => None,
    })
}

/// Kernel counters of a sender's namespace and of the receiver's.
pub(crate) struct KernelCounters<'n> {
    sent: NftFilter<'n>,
    receiver: &'n TestNamespace,
}

impl<'n> KernelCounters<'n> {
    pub(crate) fn new(sender: &'n TestNamespace, receiver: &'n TestNamespace) -> Self {
        Self { sent: NftFilter::new(sender, "inet", "output", &[ANNOUNCEMENT, PAYLOAD]), receiver }
    }

    /// Returns the messages with payload that were sent, and the messages that were dropped at a full buffer.
    pub(crate) fn counts(&self) -> (RuleCount, u64) {
        (self.sent.counts()[1], found_full(self.receiver))
    }

    /// Asserts that, for a trial since `before` over a path without loss, both ends agree with the kernel. `headers`
    /// are the bytes of the IP header and of the UDP header.
    pub(crate) fn assert_agrees(
        &self,
        before: (RuleCount, u64),
        outcome: &TrialOutcome,
        headers: u64,
    ) {
        let (count, full) = self.counts();
        let (messages, bytes) = (
            count.packets - before.0.packets,
            count.bytes - before.0.bytes - headers * (count.packets - before.0.packets),
        );
        let (sum, full) = (sum(outcome), full - before.1);
        assert_eq!(sum.sent_bytes, bytes, "{sum:?}");
        assert_eq!(sum.sent, outcome.ends.datagrams_sent);
        assert_eq!(sum.received, outcome.ends.datagrams_received);
        assert_eq!((sum.duplicates, sum.reordered), (0, 0));
        // All messages have equally many datagrams: one, unless the kernel takes many at once.
        assert!(messages > 0 && sum.sent.is_multiple_of(messages), "{sum:?}: {messages} messages");
        let lost = full * (sum.sent / messages);
        assert_eq!(sum.sent - sum.received, lost, "{sum:?}: {full} of {messages} messages dropped");
        assert_eq!(dropped_at_socket(outcome), (lost > 0).then_some((lost, sum.sent)));
    }
}

#[test]
fn every_datagram_is_counted_by_both_ends_in_every_mode() {
    let modes: [&[(&str, Value)]; 6] = [
        &[],
        &[("wait", json!("spin"))],
        &[("receive", json!("drop"))],
        &[("gso", json!(true)), ("rate", json!("40kpps"))],
        &[("gso", json!(true)), ("receive", json!("drop")), ("rate", json!("40kpps"))],
        &[("size", json!(24)), ("rate", json!("1kpps"))],
    ];
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let kernel = KernelCounters::new(&namespace, &namespace);
    for mode in modes {
        for flows in [1, 3] {
            let before = kernel.counts();
            let outcome = trial(&topology, 200 * MS, flows, mode);
            kernel.assert_agrees(before, &outcome, 28);
            let sum = sum(&outcome);
            assert_eq!(outcome.series[0].intervals.len(), 10);
            let bytes: u64 = outcome.series[0].intervals.iter().map(|one| one.bytes).sum();
            let size = outcome.parameters["size"].as_u64().unwrap();
            assert_eq!((sum.sent_bytes, bytes), (sum.sent * size, sum.received * size), "{mode:?}");
            assert!(outcome.epoch.is_some() && outcome.agents.clients.len() == 10);
        }
    }
}

#[test]
fn datagrams_over_ipv6_are_counted_alike() {
    let pair = NamespacePair::new();
    let (mut server, mut client) =
        (pair.server_container(&agent()), pair.client_container(&agent()));
    server.address = "fd99::2".parse().unwrap();
    client.address = "fd99::1".parse().unwrap();
    let topology = topology(vec![server], vec![client], |_| PORT);
    let kernel = KernelCounters::new(&pair.client, &pair.server);
    for asked in [&[][..], &[("gso", json!(true)), ("rate", json!("50kpps"))]] {
        let before = kernel.counts();
        kernel.assert_agrees(before, &trial(&topology, 200 * MS, 1, asked), 48);
    }
}

#[test]
fn clients_and_processes_are_told_apart_and_added_up() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 3);
    let kernel = KernelCounters::new(&namespace, &namespace);
    let mut session = open_session_with(&topology, 2).unwrap();
    let mut job = job("udp-rate", &topology, &[("rate", json!("2kpps"))]);
    job.shape.flows = 5;
    job.shape.processes = 2;
    for threads in [None, Some(1), Some(4)] {
        job.parameters.extend(threads.map(|threads| ("threads".to_owned(), json!(threads))));
        let before = kernel.counts();
        let outcome = session.run_trial(&job, NEVER).unwrap();
        let clients: Vec<u32> = outcome.series.iter().map(|series| series.client).collect();
        assert_eq!(clients, [0, 1, 2]);
        kernel.assert_agrees(before, &outcome, 28);
    }
}

#[test]
fn what_is_offered_is_what_was_asked_for_or_it_is_said() {
    let topology = loopback(1);
    for (rate, flows, due) in [("5kpps", 1, 1000.0), ("5kpps", 4, 1000.0), ("37pps", 1, 7.4)] {
        let outcome = trial(&topology, 200 * MS, flows, &[("rate", json!(rate))]);
        let sent = outcome.ends.datagrams_sent as f64;
        // The first datagram is due at once. If a busy machine kept the sender from sending, a finding says so.
        assert!(sent <= f64::ceil(due), "{rate}: {sent}");
        let few = (sent < due * 0.99 - 1.0).then_some(sent / 0.2);
        assert_eq!(offered_rate(&outcome), few, "{rate}: {sent}");
    }
    let outcome = trial(&topology, 200 * MS, 1, &[("rate", json!("10000gbit"))]);
    assert_eq!(offered_rate(&outcome), Some(outcome.ends.datagrams_sent as f64 / 0.2));
}

#[test]
fn repeated_and_late_datagrams_are_counted_exactly() {
    let namespace = lone_namespace();
    let mut topology = loopback_of(&namespace, 1);
    let server = topology.routes[0].listen;
    topology.routes[0].dial.set_port(PORT + 1);
    let dial = topology.routes[0].dial;
    let words = ["forward", &dial.to_string(), &server.to_string()];
    let forwarder = PeerProgram::start(&namespace, &words);
    // Datagrams are so few and small that a buffer of the kernel's default size holds all of them, however late they
    // are read.
    let asked = [("rate", json!("200pps")), ("size", json!(64))];
    let outcome = trial(&topology, 1000 * MS, 1, &asked);
    let sum = sum(&outcome);
    let [came, repeated, swapped] = forwarder.finish().try_into().unwrap();
    assert_eq!(found_full(&namespace), 0);
    assert!(repeated > 0 && swapped > 0, "{sum:?}");
    assert_eq!((sum.sent, sum.received), (came, came));
    assert_eq!((sum.duplicates, sum.reordered), (repeated, swapped));
    assert_eq!(outcome.ends.datagrams_received, came + repeated);
}

#[test]
fn where_udp_does_not_pass_it_is_said() {
    let pair = NamespacePair::new();
    NftFilter::new(&pair.server, "ip", "prerouting", &["meta l4proto udp drop"]);
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    let error = session.run_trial(&job("udp-rate", &topology, &[]), NEVER).unwrap_err().to_string();
    let why = "cannot announce flows to 10.99.0.2:7001: the server received no datagram";
    assert!(error.contains(why), "{error}");
}

#[test]
fn devices_and_sockets_count_the_same() {
    let pair = NamespacePair::new();
    let start = Frames::received_by(&pair.server, "eth0");
    // Announcements, payload, and all else: control connection, neighbour discovery.
    let rules = [ANNOUNCEMENT, PAYLOAD].map(|rule| format!("ip protocol udp {rule}"));
    let rules = rules.into_iter().chain(["counter accept".to_owned()]).collect::<Vec<_>>();
    let came = NftFilter::new(&pair.server, "netdev", "ingress", &rules);
    let kernel = KernelCounters::new(&pair.client, &pair.server);
    let topology = pair_topology(&pair);
    let asked = [("rate", json!("10kpps")), ("size", json!(1000))];
    let outcome = trial(&topology, 1000 * MS, 1, &asked);
    kernel.assert_agrees((RuleCount::default(), 0), &outcome, 28);
    let (sent, received) = (outcome.ends.datagrams_sent, outcome.ends.datagrams_received);
    let [announced, payload, _] = came.counts().try_into().unwrap();
    assert_eq!((payload.packets, payload.bytes), (sent, sent * 1028));
    assert_eq!(counter(&pair.client, "Udp", "OutDatagrams"), sent + announced.packets);
    // Of the announcements, only the first must have been read.
    let read = counter(&pair.server, "Udp", "InDatagrams");
    assert!((received + 1..=received + announced.packets).contains(&read), "{read} of {received}");
    eventually("the device has received what the filter has seen", || {
        let all = came.counts();
        let packets: u64 = all.iter().map(|one| one.packets).sum();
        let bytes = all.iter().map(|one| one.bytes).sum::<u64>() + 14 * packets;
        let device = Frames::received_by(&pair.server, "eth0");
        let since = (device.packets - start.packets, device.bytes - start.bytes);
        // Before the filter was installed, neighbour discovery may have sent frames of 70 to 110 bytes.
        let before = (since.0 - packets, since.1 - bytes);
        let known = (before.0 * 70..=before.0 * 110).contains(&before.1) && before.0 < 10;
        if known { Ok(()) } else { Err(format!("{since:?}, not {packets} and {bytes}")) }
    });
}
