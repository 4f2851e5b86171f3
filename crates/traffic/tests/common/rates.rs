//! What a limited path carries, where other work may run on the machine.

use tare_traffic::Outcome;

/// Payload, Gbit/s, over the intervals after the first half second, when a shaper's bucket is long empty.
pub(crate) fn settled_rate(outcome: &Outcome) -> f64 {
    assert_eq!(outcome.series.len(), 1, "both ends' series of a client are one");
    let settled = || outcome.series[0].intervals.iter().filter(|one| one.start.0 >= 500_000_000);
    let bytes: u64 = settled().map(|interval| interval.bytes).sum();
    let time: f64 = settled().map(|interval| interval.length.as_secs_f64()).sum();
    bytes as f64 * 8.0 / time / 1e9
}

/// The first of at most five measurements that reaches the least expected, or the last. Other work can take the processors from
/// a sender, so that a limit is not reached; it can let nothing pass a limit, so that the most must hold every time.
pub(crate) fn undisturbed(least: f64, most: f64, mut measure: impl FnMut() -> f64) -> f64 {
    let mut found = f64::NAN;
    for _ in 0..5 {
        found = measure();
        assert!(found <= most, "{found} passed where {most} is the most");
        if found >= least {
            break;
        }
    }
    found
}
