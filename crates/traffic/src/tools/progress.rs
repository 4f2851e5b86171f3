//! What databases' benchmarks report as they go.

use tare_record::{Interval, Nanos};

/// Reports of a rate as intervals: each says when it was made, in seconds from the beginning, and how many transactions a
/// second there were since the one before. One that is not later than the one before tells of no time.
pub(crate) fn intervals(reports: impl Iterator<Item = (f64, f64)>) -> Vec<Interval> {
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let mut before = 0.0;
    let mut all = Vec::new();
    for (at, rate) in reports {
        if at > before {
            all.push(Interval {
                start: nanos(before),
                length: nanos(at - before),
                operations: (rate * (at - before)).round() as u64,
                ..Interval::default()
            });
            before = at;
        }
    }
    all
}
