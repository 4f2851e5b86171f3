//! Datagrams that are lost on the way in a known number: all of them are found, and no others.

use crate::common::counters::counter;
use crate::common::counters::found_full;
use crate::common::filter::NftFilter;
use crate::common::shaper::{ShaperCounters, shape};
use crate::common::{
    NEVER, PORT, agent, job, loopback, open_session, pair_topology, send_signal, stop_process,
};
use crate::udp::{ANNOUNCEMENT, KernelCounters, MS, PAYLOAD, dropped_at_socket, sum, trial};
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::Arc;
use tare_dev::{NamespacePair, topology};
use tare_network::Topology;
use tare_record::{Finding, Nanos};
use tare_traffic::{TrialJob, TrialOutcome};

#[test]
fn what_a_filter_drops_at_random_is_lost_and_nothing_else() {
    let pair = NamespacePair::new();
    let drop = "udp dport 7001 numgen random mod 100 < 3 counter drop";
    let filter = NftFilter::new(&pair.server, "ip", "prerouting", &[ANNOUNCEMENT, drop, PAYLOAD]);
    let topology = pair_topology(&pair);
    let counts = || (filter.packets(), found_full(&pair.server));
    for flows in [1, 4] {
        let (before, full) = counts();
        let outcome = trial(&topology, 1000 * MS, flows, &[("rate", json!("10kpps"))]);
        let (after, full) = (counts().0, counts().1 - full);
        let (dropped, passed) = (after[1] - before[1], after[2] - before[2]);
        let sum = sum(&outcome);
        assert_eq!((sum.sent, sum.received + full), (dropped + passed, passed), "{flows} flows");
        assert!(dropped > 0, "{sum:?}");
        assert!(sum.duplicates == 0 && sum.reordered == 0);
        // Datagrams lost on the way do not count as lost at the socket.
        assert_eq!(dropped_at_socket(&outcome), (full > 0).then_some((full, sum.sent)));
    }
}

/// Datagrams that left a client, and those that its shaper let through to the server.
struct ShapedPath<'p> {
    pair: &'p NamespacePair,
    left: KernelCounters<'p>,
    came: NftFilter<'p>,
}

impl<'p> ShapedPath<'p> {
    fn open(pair: &'p NamespacePair, parameters: &str) -> Self {
        shape(&pair.client, parameters);
        let left = KernelCounters::new(&pair.client, &pair.server);
        let came = NftFilter::new(&pair.server, "ip", "prerouting", &[ANNOUNCEMENT, PAYLOAD]);
        Self { pair, left, came }
    }

    /// Returns the datagrams that arrived, out of `sent`; the shaper counts those that it dropped.
    fn came_of(&self, sent: u64) -> u64 {
        let (left, came) = (self.left.counts().0.packets, self.came.packets()[1]);
        assert_eq!(left, sent);
        let shaper = ShaperCounters::read(&self.pair.client);
        // A segment of the control connection may have found the queue full: it was retransmitted.
        let again = counter(&self.pair.client, "Tcp", "RetransSegs");
        let dropped = sent - came;
        assert!(dropped > 0 && (dropped..=dropped + again).contains(&shaper.dropped), "{shaper:?}");
        came
    }
}

#[test]
fn what_does_not_fit_into_a_shaper_is_lost_and_nothing_else() {
    let pair = NamespacePair::new();
    let path = ShapedPath::open(&pair, "rate 20mbit burst 32kb latency 50ms");
    let asked = [("rate", json!("200mbit")), ("size", json!(1000))];
    let outcome = trial(&pair_topology(&pair), 1000 * MS, 1, &asked);
    let (sum, full) = (sum(&outcome), found_full(&pair.server));
    assert_eq!(sum.sent, outcome.ends.datagrams_sent);
    assert_eq!(sum.received + full, path.came_of(sum.sent));
    assert_eq!(dropped_at_socket(&outcome), (full > 0).then_some((full, sum.sent)));
}

#[test]
fn a_tiny_buffer_and_a_stalled_receiver_lose_datagrams_at_the_socket() {
    const ENOUGH: u64 = 100;
    let pair = NamespacePair::new();
    let server = pair.server_container(&agent());
    let started = Arc::clone(&server.started);
    let topology = topology(vec![server], vec![pair.client_container(&agent())], |_| PORT);
    let kernel = KernelCounters::new(&pair.client, &pair.server);
    let mut session = open_session(&topology).unwrap();
    let asked = [("rate", json!("20kpps")), ("buffer", json!(4096))];
    let job = TrialJob { duration: Nanos(3000 * MS), ..job("udp-rate", &topology, &asked) };
    let pid = started.lock().unwrap()[0];
    // Drops before the receiver was stopped; then at the time it continued.
    let (stopped, over) = (Cell::new(None), Cell::new(false));
    let outcome = session.run_trial(&job, &|| {
        let full = found_full(&pair.server);
        match stopped.get() {
            None if counter(&pair.server, "Udp", "InDatagrams") > ENOUGH => {
                stop_process(pid);
                stopped.set(Some(full));
            }
            Some(before) if !over.get() && full >= before + ENOUGH => {
                send_signal(pid, rustix::process::Signal::CONT);
                over.set(true);
            }
            _ => {}
        }
        false
    });
    let outcome = outcome.unwrap();
    assert!(over.get());
    kernel.assert_agrees(Default::default(), &outcome, 28);
    assert!(dropped_at_socket(&outcome).is_some_and(|(dropped, _)| dropped >= ENOUGH));
}

/// Runs one search over a topology.
fn search(topology: &Topology, duration: u64, asked: &[(&str, Value)]) -> TrialOutcome {
    let mut session = open_session(topology).unwrap();
    let job = TrialJob { duration: Nanos(duration), ..job("udp-search", topology, asked) };
    session.run_trial(&job, NEVER).unwrap()
}

#[test]
fn a_search_loses_what_its_path_drops() {
    const DURATION: u64 = 4000 * MS;
    let pair = NamespacePair::new();
    let path = ShapedPath::open(&pair, "rate 20mbit burst 5kb latency 10ms");
    let asked = [("size", json!(1000)), ("final_trial", json!(400)), ("pdr", json!("1%"))];
    let outcome = search(&pair_topology(&pair), DURATION, &asked);
    let found = outcome.search.unwrap();
    assert_eq!((found.size, found.found.len()), (1000, 2));
    assert!(found.probes.iter().any(|probe| probe.received < probe.sent));
    let last = found.probes.last().unwrap();
    assert!(last.began.0 + last.length.0 <= DURATION, "within the duration: {last:?}");
    let (sent, received) = found
        .probes
        .iter()
        .fold((0, 0), |(sent, received), probe| (sent + probe.sent, received + probe.received));
    let ends = outcome.ends;
    assert_eq!(ends.datagrams_sent, sent);
    // Datagrams still queued at the end of a trial arrived too, but too late.
    assert!(received <= ends.datagrams_received, "{ends:?}");
    assert_eq!(ends.datagrams_received + found_full(&pair.server), path.came_of(sent));
}

#[test]
fn a_search_without_time_says_so_and_ends() {
    let topology = loopback(1);
    let outcome = search(&topology, 300 * MS, &[]);
    let found = outcome.search.unwrap();
    assert!(!found.probes.is_empty() && found.found.len() == 2);
    let said = outcome.findings.iter().any(|finding| {
        matches!(finding, Finding::UnfinishedSearch(_) | Finding::SearchLimitedBySender(_))
    });
    assert_eq!(said, found.found.iter().any(|bounds| !bounds.converged), "{found:?}");
}
