//! A trial's clients added up, interval by interval.

use std::collections::BTreeMap;
use std::ops::Range;
use tare_record::{HistogramError, Interval, Latency, LatencyHistogram, Metric, Nanos, Trial};

/// What is counted in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Payload bytes received.
    Bytes,
    /// Transactions completed.
    Operations,
    /// Payload bytes of datagrams sent.
    Offered,
    /// Datagrams sent.
    Sent,
    /// Datagrams received, each once.
    Received,
    /// Datagrams received again.
    Duplicates,
    /// Datagrams received out of order.
    Reordered,
    /// TCP segments sent again.
    Retransmits,
}

impl Count {
    fn of(self, interval: &Interval) -> u64 {
        let datagrams = interval.datagrams.unwrap_or_default();
        match self {
            Self::Bytes => interval.bytes,
            Self::Operations => interval.operations,
            Self::Offered => datagrams.sent_bytes,
            Self::Sent => datagrams.sent,
            Self::Received => datagrams.received,
            Self::Duplicates => datagrams.duplicates,
            Self::Reordered => datagrams.reordered,
            Self::Retransmits => interval.tcp.unwrap_or_default().retransmits,
        }
    }
}

/// The intervals of all clients, over the stretch in which every client runs: from where the last one begins to where
/// the first one ends. Clients that do not begin together are put side by side to the nearest interval.
pub(crate) struct Traffic<'a> {
    clients: Vec<&'a [Interval]>,
    /// What each client's tool stated, in the same order.
    stated: Vec<&'a BTreeMap<Metric, f64>>,
    len: usize,
}

impl<'a> Traffic<'a> {
    /// The traffic of a trial.
    pub(crate) fn of(trial: &'a Trial) -> Self {
        let starts = trial.series.iter().filter_map(|series| series.intervals.first());
        let last = starts.map(|interval| interval.start).max().unwrap_or_default();
        let running: Vec<_> =
            trial.series.iter().map(|series| from(&series.intervals, last)).collect();
        let len = running.iter().map(|intervals| intervals.len()).min().unwrap_or(0);
        Self {
            clients: running.into_iter().map(|intervals| &intervals[..len]).collect(),
            stated: trial.series.iter().map(|series| &series.stated).collect(),
            len,
        }
    }

    /// The same of each client alone, in the trial's order.
    pub(crate) fn alone(&self) -> impl Iterator<Item = Self> {
        self.clients.iter().zip(&self.stated).map(|(&client, &stated)| Self {
            clients: vec![client],
            stated: vec![stated],
            len: self.len,
        })
    }

    /// What the tools of all clients together stated of a metric; nothing where one of them said nothing of it.
    pub(crate) fn stated(&self, metric: Metric) -> Option<f64> {
        let each = self.stated.iter().map(|stated| stated.get(&metric).copied());
        metric.together(&each.collect::<Option<Vec<f64>>>()?)
    }

    /// How many intervals every client has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// What this trial is about: transactions where any were completed, else bytes.
    pub(crate) fn primary(&self) -> Count {
        let transactions =
            self.clients.iter().any(|client| client.iter().any(|interval| interval.operations > 0));
        if transactions { Count::Operations } else { Count::Bytes }
    }

    /// The rate of each interval, per second: the clients' rates added up, each over its interval's real length.
    pub(crate) fn rates(&self, count: Count) -> Vec<f64> {
        (0..self.len).map(|at| self.rate(at..at + 1, count)).collect()
    }

    /// The rate over these intervals, per second: of each client all that was counted over all the time it took,
    /// added up over clients.
    pub(crate) fn rate(&self, over: Range<usize>, count: Count) -> f64 {
        self.clients
            .iter()
            .map(|client| {
                let kept = &client[over.clone()];
                let counted: u64 = kept.iter().map(|interval| count.of(interval)).sum();
                let time = Nanos(kept.iter().map(|interval| interval.length.0).sum());
                if time.0 == 0 { 0.0 } else { counted as f64 / time.as_secs_f64() }
            })
            .sum()
    }

    /// All that was counted in these intervals.
    pub(crate) fn sum(&self, over: Range<usize>, count: Count) -> u64 {
        let kept = self.clients.iter().flat_map(|client| &client[over.clone()]);
        kept.map(|interval| count.of(interval)).sum()
    }

    /// Interarrival jitter in these intervals, µs, mean over the datagrams that came; nothing where none did.
    pub(crate) fn jitter(&self, over: Range<usize>) -> Option<f64> {
        let kept = self.clients.iter().flat_map(|client| &client[over.clone()]);
        let (mut sum, mut received) = (0.0, 0u64);
        for datagrams in kept.filter_map(|interval| interval.datagrams) {
            sum += datagrams.jitter.as_micros_f64() * datagrams.received as f64;
            received += datagrams.received;
        }
        (received > 0).then(|| sum / received as f64)
    }

    /// From where to where these intervals go, after the first payload; nothing where there are none.
    pub(crate) fn span(&self, over: Range<usize>) -> Option<Range<Nanos>> {
        let kept = &self.clients.first()?[over];
        let (first, last) = (kept.first()?, kept.last()?);
        Some(first.start..last.start + last.length)
    }

    /// The latencies of all clients in these intervals; nothing where none were kept.
    pub(crate) fn latencies(
        &self,
        over: Range<usize>,
        which: Latency,
    ) -> Result<Option<LatencyHistogram>, HistogramError> {
        let mut all: Option<LatencyHistogram> = None;
        let kept = self.clients.iter().flat_map(|client| &client[over.clone()]);
        for latency in kept.filter_map(|interval| match which {
            Latency::RoundTrip => interval.latency.as_ref(),
            Latency::OneWay => interval.one_way.as_ref(),
            Latency::Connect => interval.connect.as_ref(),
        }) {
            match &mut all {
                Some(all) => all.merge(latency)?,
                None => {
                    let mut open = LatencyHistogram::new()?;
                    open.merge(latency)?;
                    all = Some(open);
                }
            }
        }
        Ok(all)
    }

    /// How many intervals begin within this time after the first payload.
    pub(crate) fn begun_within(&self, span: Nanos) -> usize {
        self.clients
            .first()
            .map_or(0, |client| client.iter().take_while(|interval| interval.start < span).count())
    }
}

/// A client's intervals from this moment on: those that begin less than half their length before it, or later.
fn from(intervals: &[Interval], moment: Nanos) -> &[Interval] {
    let before = |interval: &&Interval| interval.start.0 + interval.length.0 / 2 < moment.0;
    &intervals[intervals.iter().take_while(before).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::trial;
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
            Series::of(
                0,
                vec![
                    interval(0, 1_000_000_000, 100, 0),
                    interval(1_000_000_000, 2_000_000_000, 100, 0),
                ],
            ),
            Series::of(
                1,
                vec![
                    interval(0, 500_000_000, 100, 0),
                    interval(500_000_000, 500_000_000, 300, 0),
                    interval(1_000_000_000, 500_000_000, 999, 0),
                ],
            ),
        ];
        let traffic = Traffic::of(&trial);
        assert_eq!(traffic.len(), 2);
        assert_eq!(traffic.primary(), Count::Bytes);
        assert_eq!(traffic.rates(Count::Bytes), [300.0, 650.0]);
        assert!((traffic.rate(0..2, Count::Bytes) - (200.0 / 3.0 + 400.0)).abs() < 1e-9);
        assert_eq!(traffic.begun_within(Nanos(1)), 1);
        assert_eq!(traffic.begun_within(Nanos(0)), 0);
    }

    #[test]
    fn what_counts_is_where_all_clients_run() {
        const LENGTH: u64 = 100;
        let series = |client, offset: u64, bytes: &[u64]| {
            let intervals = (0..)
                .zip(bytes)
                .map(|(at, &bytes)| interval(offset + at * LENGTH, LENGTH, bytes, 0))
                .collect();
            Series::of(client, intervals)
        };
        let mut trial = trial("bridge", 0, &[]);
        trial.series = vec![
            series(0, 0, &[9, 9, 1, 2, 3]),
            series(1, 210, &[10, 20, 30, 40]),
            series(2, 40, &[9, 9, 100, 200]),
        ];
        let traffic = Traffic::of(&trial);
        assert_eq!(traffic.len(), 2);
        assert_eq!(traffic.sum(0..2, Count::Bytes), 1 + 2 + 10 + 20 + 100 + 200);
        let alone: Vec<u64> = traffic.alone().map(|one| one.sum(0..2, Count::Bytes)).collect();
        assert_eq!(alone, [3, 30, 300]);
    }

    #[test]
    fn what_tools_state_is_put_together_only_where_all_do() {
        let mut trial = trial("bridge", 0, &[]);
        let series = |client, tps: Option<f64>| Series {
            stated: tps.map(|tps| (Metric::Tps, tps)).into_iter().collect(),
            ..Series::of(client, vec![interval(0, 100, 0, 1)])
        };
        trial.series = vec![series(0, Some(3.0)), series(1, Some(4.0))];
        let traffic = Traffic::of(&trial);
        assert_eq!(traffic.stated(Metric::Tps), Some(7.0));
        let alone: Vec<_> = traffic.alone().map(|one| one.stated(Metric::Tps)).collect();
        assert_eq!(alone, [Some(3.0), Some(4.0)]);
        assert_eq!(traffic.stated(Metric::LatencyP95), None);
        trial.series.push(series(2, None));
        assert_eq!(Traffic::of(&trial).stated(Metric::Tps), None);
    }

    #[test]
    fn a_trial_without_clients_carries_nothing() {
        let trial = trial("bridge", 0, &[]);
        assert_eq!(Traffic::of(&trial).rates(Count::Bytes), Vec::<f64>::new());
    }
}
