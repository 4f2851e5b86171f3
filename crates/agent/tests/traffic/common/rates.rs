//! Rates of a trial, for tests that measure.

use std::ops::RangeInclusive;
use tare_traffic::TrialOutcome;

/// Returns the payload rate, Gbit/s, over the intervals after the first half second, when a shaper's token bucket has
/// emptied.
pub(crate) fn settled_rate(outcome: &TrialOutcome) -> f64 {
    assert_eq!(outcome.series.len(), 1, "both ends' series of a client are one");
    let settled = || outcome.series[0].intervals.iter().filter(|one| one.start.0 >= 500_000_000);
    let bytes: u64 = settled().map(|interval| interval.bytes).sum();
    let time: f64 = settled().map(|interval| interval.length.as_secs_f64()).sum();
    bytes as f64 * 8.0 / time / 1e9
}

/// Asserts that one of at most five measurements is within bounds: other work on the processors makes a transfer slower
/// than its path, or faster, if a receiver reads late.
pub(crate) fn one_is_within(
    bounds: RangeInclusive<f64>,
    what: &str,
    mut measure: impl FnMut() -> f64,
) {
    let mut found = Vec::new();
    let within = (0..5).any(|_| {
        found.push(measure());
        found.last().is_some_and(|last| bounds.contains(last))
    });
    assert!(within, "{what}: none within {bounds:?}: {found:?}");
}
