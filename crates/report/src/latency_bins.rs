//! Latency distributions in bins of equal ratio over a common range, so that they can be drawn one above the other.

use tare_record::{LatencyDistribution, Nanos};

/// Share of latencies that the range excludes at either end.
const BEYOND: f64 = 0.002;

/// Common range of all distributions, µs, and the number of bins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyBins {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) count: usize,
}

impl LatencyBins {
    /// Returns the range that holds nearly all latencies of these distributions.
    pub(crate) fn covering(all: &[&LatencyDistribution], count: usize) -> Self {
        let quantile = |one: &LatencyDistribution, share: f64| {
            one.latencies.quantile(share).map(|nanos| Nanos(nanos).as_micros_f64())
        };
        let least =
            all.iter().filter_map(|one| quantile(one, BEYOND)).fold(f64::INFINITY, f64::min);
        let most = all.iter().filter_map(|one| quantile(one, 1.0 - BEYOND)).fold(0.0, f64::max);
        if !least.is_finite() {
            return Self { from: 1.0, to: 10.0, count };
        }
        let from = least / 1.02;
        Self { from, to: (most * 1.02).max(from * 1.2), count }
    }

    /// Returns the upper edge of the first `bins` bins, µs.
    pub(crate) fn edge(&self, bins: f64) -> f64 {
        self.from * (self.to / self.from).powf(bins / self.count as f64)
    }

    /// Returns the position of a latency in bins, with its fraction. It is below 0 or above the count outside of the
    /// range.
    pub(crate) fn position(&self, micros: f64) -> f64 {
        (micros / self.from).ln() / (self.to / self.from).ln() * self.count as f64
    }

    /// Returns the share of all latencies in each bin. A bucket of the histogram that spans several bins is divided
    /// among them.
    pub(crate) fn shares(&self, one: &LatencyDistribution) -> Vec<f64> {
        let mut shares = vec![0.0; self.count];
        let all = one.latencies.count() as f64;
        for (low, high, count) in one.latencies.buckets() {
            let from = self.position(Nanos(low).as_micros_f64());
            let to = self.position(Nanos(high + 1).as_micros_f64());
            let first = from.floor().max(0.0) as usize;
            let last = (to.ceil().max(0.0) as usize).min(self.count);
            for (at, share) in shares.iter_mut().enumerate().take(last).skip(first) {
                let within = to.min(at as f64 + 1.0) - from.max(at as f64);
                *share += count as f64 / all * within.max(0.0) / (to - from);
            }
        }
        shares
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use tare_record::{LatencyHistogram, LatencyKind, Shape};

    /// Makes a distribution of round trips of these lengths, ns.
    pub(crate) fn distribution(label: &str, nanos: &[u64]) -> LatencyDistribution {
        LatencyDistribution {
            label: label.to_owned(),
            workload: "tcp-rr".to_owned(),
            shape: Shape::default(),
            which: LatencyKind::RoundTrip,
            latencies: LatencyHistogram::from_nanos(nanos.iter().copied()).unwrap(),
        }
    }

    #[test]
    fn nothing_has_some_range() {
        let bins = LatencyBins::covering(&[], 10);
        assert_eq!((bins.from, bins.to), (1.0, 10.0));
        assert!((bins.edge(5.0) - 10f64.sqrt()).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn nearly_all_latencies_lie_in_a_bin(nanos in prop::collection::vec(1_000u64..10_000_000, 1..300)) {
            let one = distribution("host", &nanos);
            let bins = LatencyBins::covering(&[&one], 90);
            let sum: f64 = bins.shares(&one).iter().sum();
            // Latencies outside of the range at either end, and in a bucket of the histogram that crosses it.
            let most = 2.0 * (BEYOND + 1.0 / nanos.len() as f64);
            prop_assert!(sum <= 1.0 + 1e-9 && sum >= 1.0 - most, "{sum}");
        }
    }
}
