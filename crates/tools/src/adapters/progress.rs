//! Progress reports of database benchmarks.

use tare_record::{Interval, Nanos};

/// Converts rate reports to intervals. Each report has its time, in seconds from the beginning, and the transactions
/// per second since the one before. A report that is not later than the one before is ignored.
pub(crate) fn intervals_from_rates(reports: impl Iterator<Item = (f64, f64)>) -> Vec<Interval> {
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
