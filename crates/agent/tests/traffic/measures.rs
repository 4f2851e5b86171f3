//! Rates of paths whose rate is known. These tests need the machine to themselves.

use crate::common::rates::{one_is_within, settled_rate};
use crate::common::shaper::shape;
use crate::common::{NEVER, job, open_session, pair_topology};
use serde_json::json;
use tare_dev::NamespacePair;
use tare_record::finding::SlowSender;
use tare_record::{Finding, Nanos};
use tare_traffic::TrialJob;

const MS: u64 = 1_000_000;

/// Queue of a path of 100 Mbit/s. The bucket holds the tokens of 21 ms: a kernel timer that is late by less, as it is
/// beside other work, takes nothing from the rate.
const SHAPER: &str = "rate 100mbit burst 256kb latency 50ms";
/// Bytes that the bucket of [`SHAPER`] holds.
const BURST: f64 = 256.0 * 1024.0;

#[test]
fn a_path_of_100_mbit_per_second_carries_what_headers_leave_either_way() {
    let pair = NamespacePair::new();
    for end in [&pair.client, &pair.server] {
        shape(end, SHAPER);
    }
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, ways, flows) in [("up", 1, 1), ("up", 1, 4), ("down", 1, 1), ("both", 2, 1)] {
        let mut job = job("tcp-stream", &topology, &[("direction", json!(direction))]);
        job.shape.flows = flows;
        job.duration = Nanos(2500 * MS);
        job.interval = Nanos(50 * MS);
        // A full frame has 1448 bytes of payload in 1514. If both directions are full, acknowledgements of 66 bytes for
        // every other frame take their share too (RFC 5681, section 4.2).
        let acknowledgements = if ways == 2 { 33.0 } else { 0.0 };
        let expected = 0.1 * f64::from(ways) * 1448.0 / (1514.0 + acknowledgements);
        one_is_within(0.97..=1.03, &format!("{flows} flows {direction}, of their rate"), || {
            settled_rate(&session.run_trial(&job, NEVER).unwrap()) / expected
        });
    }
}

#[test]
fn paced_flows_carry_their_rate_in_either_direction() {
    let pair = NamespacePair::new();
    let topology = pair_topology(&pair);
    let mut session = open_session(&topology).unwrap();
    for (direction, flows) in [("up", 1), ("down", 1), ("up", 4)] {
        let asked = [("pacing_rate", json!("40mbit")), ("direction", json!(direction))];
        let mut job = job("tcp-stream", &topology, &asked);
        job.shape.flows = flows;
        job.duration = Nanos(2000 * MS);
        job.interval = Nanos(50 * MS);
        one_is_within(0.9..=1.03, &format!("{flows} flows {direction}, of their rate"), || {
            settled_rate(&session.run_trial(&job, NEVER).unwrap()) / (0.040 * f64::from(flows))
        });
    }
}

/// Returns the frames that [`SHAPER`] lets through, interval by interval.
fn let_through(sent: impl Iterator<Item = u64>, interval: Nanos, frame: f64) -> f64 {
    const BYTES_PER_SECOND: f64 = 100e6 / 8.0;
    let carried = BYTES_PER_SECOND * interval.as_secs_f64();
    let room = BYTES_PER_SECOND * 0.05 + BURST;
    let (mut queued, mut tokens, mut passed) = (0.0, BURST, 0.0);
    for frames in sent {
        queued += frames as f64 * frame;
        tokens += carried;
        let out = f64::min(queued, tokens);
        (queued, tokens) = (f64::min(queued - out, room), f64::min(tokens - out, BURST));
        passed += out;
    }
    // Frames still queued at the end arrive too.
    (passed + queued) / frame
}

#[test]
fn a_path_of_100_mbit_per_second_loses_what_does_not_fit() {
    const SIZE: u64 = 1000;
    let pair = NamespacePair::new();
    shape(&pair.client, SHAPER);
    let topology = pair_topology(&pair);
    let asked = [("rate", json!("200mbit")), ("size", json!(SIZE))];
    let (duration, interval) = (Nanos(3500 * MS), Nanos(2 * MS));
    let job = TrialJob { duration, interval, ..job("udp-rate", &topology, &asked) };
    let mut session = open_session(&topology).unwrap();
    // Relative to the actual times of sending: a busy machine delays the sender. The shaper counts Ethernet, IPv4 and
    // UDP headers too.
    one_is_within(0.97..=1.03, "of what the path lets through", || {
        let outcome = session.run_trial(&job, NEVER).unwrap();
        let datagrams = || outcome.series[0].intervals.iter().filter_map(|one| one.datagrams);
        let received: u64 = datagrams().map(|one| one.received).sum();
        received as f64 / let_through(datagrams().map(|one| one.sent), interval, SIZE as f64 + 42.0)
    });
}

#[test]
fn a_search_finds_the_rate_of_a_shaper() {
    let pair = NamespacePair::new();
    shape(&pair.client, "rate 20mbit burst 5kb latency 10ms");
    let topology = pair_topology(&pair);
    let asked = [("size", json!(1000)), ("final_trial", json!(400)), ("pdr", json!("1%"))];
    let job = TrialJob { duration: Nanos(12_000 * MS), ..job("udp-search", &topology, &asked) };
    let outcome = open_session(&topology).unwrap().run_trial(&job, NEVER).unwrap();
    let found = outcome.search.as_ref().unwrap();
    let carried = 20e6 / 8.0 / 1042.0;
    // If the sender could not offer the requested rate, a finding states by how much. In a trial of 400 ms the queue of
    // 10 ms hides 2.5 %.
    let share = outcome.findings.iter().find_map(|finding| match finding {
        Finding::SlowSender(SlowSender { asked, offered }) => Some(offered / asked),
        _ => None,
    });
    let most = 1.06 / share.unwrap_or(1.0);
    // A search disturbed by a busy machine has this finding, or that it did not finish.
    let spoilt = share.is_some()
        || outcome.findings.iter().any(|one| matches!(one, Finding::UnfinishedSearch(_)));
    for bounds in &found.found {
        let share = bounds.conditional / carried;
        let enough = share >= 0.9 || spoilt;
        assert!(enough && share < most, "{share}: {found:?} {:?}", outcome.findings);
    }
    assert!(spoilt || found.found[1].conditional >= found.found[0].conditional * 0.98);
}
