//! Traffic of a trial: its clients added up, interval by interval.

use std::collections::BTreeMap;
use std::ops::Range;
use tare_record::{
    Interval, LatencyHistogram, LatencyKind, Metric, Nanos, SaturatingSum as _, TrafficCount, Trial,
};

/// Intervals of all clients, over the stretch in which every client runs: from the begin of the last client to the end
/// of the first one that ends. Clients that do not begin together are aligned to the nearest interval.
pub(crate) struct TrialTraffic<'a> {
    clients: Vec<&'a [Interval]>,
    /// Figures that each client's tool stated, in the same order.
    stated: Vec<&'a BTreeMap<Metric, f64>>,
    len: usize,
}

impl<'a> TrialTraffic<'a> {
    /// Aligns the traffic of a trial's clients.
    pub(crate) fn from_trial(trial: &'a Trial) -> Self {
        let starts = trial.series.iter().filter_map(|series| series.intervals.first());
        let last = starts.map(|interval| interval.start).max().unwrap_or_default();
        let running: Vec<_> =
            trial.series.iter().map(|series| intervals_from(&series.intervals, last)).collect();
        let len = running.iter().map(|intervals| intervals.len()).min().unwrap_or(0);
        Self {
            clients: running.into_iter().map(|intervals| &intervals[..len]).collect(),
            stated: trial.series.iter().map(|series| &series.stated).collect(),
            len,
        }
    }

    /// Returns the traffic of each client alone, in the trial's order.
    pub(crate) fn per_client(&self) -> impl Iterator<Item = Self> {
        self.clients.iter().zip(&self.stated).map(|(&client, &stated)| Self {
            clients: vec![client],
            stated: vec![stated],
            len: self.len,
        })
    }

    /// Returns the figure of a metric that the tools of all clients stated, put together. Returns `None` if one of them
    /// did not state it.
    pub(crate) fn stated(&self, metric: Metric) -> Option<f64> {
        let each = self.stated.iter().map(|stated| stated.get(&metric).copied());
        metric.combine_clients(&each.collect::<Option<Vec<f64>>>()?)
    }

    /// Returns the number of intervals that every client has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the primary quantity of the trial: transactions if any were completed, otherwise bytes.
    pub(crate) fn primary(&self) -> TrafficCount {
        let transactions =
            self.clients.iter().any(|client| client.iter().any(|interval| interval.operations > 0));
        if transactions { TrafficCount::Operations } else { TrafficCount::Bytes }
    }

    /// Returns the rate of each interval, per second: the clients' rates added up, each over its interval's real
    /// length.
    pub(crate) fn rates(&self, count: TrafficCount) -> Vec<f64> {
        (0..self.len).map(|at| self.rate(at..at + 1, count)).collect()
    }

    /// Returns the rate over these intervals, per second: each client's total count over its total time, added up over
    /// clients.
    pub(crate) fn rate(&self, over: Range<usize>, count: TrafficCount) -> f64 {
        self.clients
            .iter()
            .map(|client| {
                let kept = &client[over.clone()];
                let counted: u64 =
                    kept.iter().map(|interval| interval.count(count)).saturating_sum();
                let time = Nanos(kept.iter().map(|interval| interval.length.0).saturating_sum());
                if time.0 == 0 { 0.0 } else { counted as f64 / time.as_secs_f64() }
            })
            .sum()
    }

    /// Returns the total count in these intervals.
    pub(crate) fn sum(&self, over: Range<usize>, count: TrafficCount) -> u64 {
        let kept = self.clients.iter().flat_map(|client| &client[over.clone()]);
        kept.map(|interval| interval.count(count)).saturating_sum()
    }

    /// Returns the interarrival jitter in these intervals, µs, as the mean over the received datagrams. Returns `None`
    /// if none were received.
    pub(crate) fn jitter(&self, over: Range<usize>) -> Option<f64> {
        let kept = self.clients.iter().flat_map(|client| &client[over.clone()]);
        let (mut sum, mut received) = (0.0, 0u64);
        for datagrams in kept.filter_map(|interval| interval.datagrams) {
            sum += datagrams.jitter.as_micros_f64() * datagrams.received as f64;
            received = received.saturating_add(datagrams.received);
        }
        (received > 0).then(|| sum / received as f64)
    }

    /// Returns the time span of these intervals, after the first payload. Returns `None` if there are no intervals.
    pub(crate) fn span(&self, over: Range<usize>) -> Option<Range<Nanos>> {
        let kept = &self.clients.first()?[over];
        let (first, last) = (kept.first()?, kept.last()?);
        Some(first.start..last.start + last.length)
    }

    /// Merges the latencies of all clients in these intervals. Returns `None` if none were recorded.
    pub(crate) fn latencies(
        &self,
        over: Range<usize>,
        which: LatencyKind,
    ) -> Option<LatencyHistogram> {
        let kept = self.clients.iter().flat_map(|client| &client[over.clone()]);
        let recorded = kept.filter_map(|interval| match which {
            LatencyKind::RoundTrip => interval.latency.as_ref(),
            LatencyKind::OneWay => interval.one_way.as_ref(),
            LatencyKind::Connect => interval.connect.as_ref(),
        });
        let mut recorded = recorded.peekable();
        recorded.peek()?;
        Some(LatencyHistogram::merged(recorded))
    }

    /// Returns the number of intervals that begin within this time after the first payload.
    pub(crate) fn intervals_within(&self, span: Nanos) -> usize {
        self.clients
            .first()
            .map_or(0, |client| client.iter().take_while(|interval| interval.start < span).count())
    }
}

/// Returns a client's intervals from this moment on: those that begin less than half their length before it, or later.
fn intervals_from(intervals: &[Interval], moment: Nanos) -> &[Interval] {
    let before = |interval: &&Interval| interval.start.0 + interval.length.0 / 2 < moment.0;
    &intervals[intervals.iter().take_while(before).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::Series;

    fn interval(start: u64, length: u64, bytes: u64, operations: u64) -> Interval {
        Interval {
            start: Nanos(start),
            length: Nanos(length),
            bytes,
            operations,
            ..Interval::default()
        }
    }

    #[test]
    fn clients_are_added_up_over_the_intervals_that_all_have() {
        let mut trial = trial("bridge", 0, &[]);
        trial.series = vec![
            Series::new(
                0,
                vec![
                    interval(0, 1_000_000_000, 100, 0),
                    interval(1_000_000_000, 2_000_000_000, 100, 0),
                ],
            ),
            Series::new(
                1,
                vec![
                    interval(0, 500_000_000, 100, 0),
                    interval(500_000_000, 500_000_000, 300, 0),
                    interval(1_000_000_000, 500_000_000, 999, 0),
                ],
            ),
        ];
        let traffic = TrialTraffic::from_trial(&trial);
        assert_eq!(traffic.len(), 2);
        assert_eq!(traffic.primary(), TrafficCount::Bytes);
        assert_eq!(traffic.rates(TrafficCount::Bytes), [300.0, 650.0]);
        assert!((traffic.rate(0..2, TrafficCount::Bytes) - (200.0 / 3.0 + 400.0)).abs() < 1e-9);
        assert_eq!(traffic.intervals_within(Nanos(1)), 1);
        assert_eq!(traffic.intervals_within(Nanos(0)), 0);
    }

    #[test]
    fn what_counts_is_where_all_clients_run() {
        const LENGTH: u64 = 100;
        let series = |client, offset: u64, bytes: &[u64]| {
            let intervals = (0..)
                .zip(bytes)
                .map(|(at, &bytes)| interval(offset + at * LENGTH, LENGTH, bytes, 0))
                .collect();
            Series::new(client, intervals)
        };
        let mut trial = trial("bridge", 0, &[]);
        trial.series = vec![
            series(0, 0, &[9, 9, 1, 2, 3]),
            series(1, 210, &[10, 20, 30, 40]),
            series(2, 40, &[9, 9, 100, 200]),
        ];
        let traffic = TrialTraffic::from_trial(&trial);
        assert_eq!(traffic.len(), 2);
        assert_eq!(traffic.sum(0..2, TrafficCount::Bytes), 1 + 2 + 10 + 20 + 100 + 200);
        let alone: Vec<u64> =
            traffic.per_client().map(|one| one.sum(0..2, TrafficCount::Bytes)).collect();
        assert_eq!(alone, [3, 30, 300]);
    }

    #[test]
    fn what_tools_state_is_put_together_only_where_all_do() {
        let mut trial = trial("bridge", 0, &[]);
        let series = |client, tps: Option<f64>| Series {
            stated: tps.map(|tps| (Metric::Tps, tps)).into_iter().collect(),
            ..Series::new(client, vec![interval(0, 100, 0, 1)])
        };
        trial.series = vec![series(0, Some(3.0)), series(1, Some(4.0))];
        let traffic = TrialTraffic::from_trial(&trial);
        assert_eq!(traffic.stated(Metric::Tps), Some(7.0));
        let alone: Vec<_> = traffic.per_client().map(|one| one.stated(Metric::Tps)).collect();
        assert_eq!(alone, [Some(3.0), Some(4.0)]);
        assert_eq!(traffic.stated(Metric::LatencyP95), None);
        trial.series.push(series(2, None));
        assert_eq!(TrialTraffic::from_trial(&trial).stated(Metric::Tps), None);
    }

    #[test]
    fn a_trial_without_clients_carries_nothing() {
        let trial = trial("bridge", 0, &[]);
        assert_eq!(TrialTraffic::from_trial(&trial).rates(TrafficCount::Bytes), Vec::<f64>::new());
    }
}
