//! Traffic over a path whose rate is known must say that rate.

mod common;

use common::namespaces::Pair;
use common::{job, topology};
use tare_record::Nanos;
use tare_traffic::Session;

const NEVER: &dyn Fn() -> bool = &|| false;

/// Payload, Gbit/s, over the intervals after the first half second, when the shaper's bucket is long empty.
fn settled_rate(outcome: &tare_traffic::Outcome) -> f64 {
    let intervals: Vec<_> = outcome.series[0]
        .intervals
        .iter()
        .filter(|interval| interval.start.0 >= 500_000_000)
        .collect();
    let bytes: u64 = intervals.iter().map(|interval| interval.bytes).sum();
    let time: f64 = intervals.iter().map(|interval| interval.length.as_secs_f64()).sum();
    bytes as f64 * 8.0 / time / 1e9
}

#[test]
fn a_path_of_100_mbit_per_second_carries_95_to_100() {
    let Some(pair) = Pair::new() else { return };
    pair.in_client("tc qdisc add dev eth0 root tbf rate 100mbit burst 32kb latency 50ms");
    let topology = topology(vec![pair.server()], vec![pair.client()], |_| 7001);
    let mut session = Session::open(&topology).unwrap();
    for flows in [1, 4] {
        let mut job = job("tcp-stream", &topology, &[]);
        job.shape.flows = flows;
        job.duration = Nanos(2_000_000_000);
        job.interval = Nanos(50_000_000);
        let outcome = session.trial(&job, NEVER).unwrap();
        assert_eq!(outcome.ends.sent, outcome.ends.received);
        let rate = settled_rate(&outcome);
        assert!((0.095..=0.100).contains(&rate), "{flows} flows: {rate} Gbit/s");
    }
}
