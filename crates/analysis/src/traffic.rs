//! A trial's clients added up, interval by interval.

use std::ops::Range;
use tare_record::{HistogramError, Interval, LatencyHistogram, Nanos, Trial};

/// What is counted in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Payload bytes received.
    Bytes,
    /// Transactions completed.
    Operations,
}

impl Count {
    fn of(self, interval: &Interval) -> u64 {
        match self {
            Self::Bytes => interval.bytes,
            Self::Operations => interval.operations,
        }
    }
}

/// The intervals of all clients, over as many of them as every client has.
pub(crate) struct Traffic<'a> {
    clients: Vec<&'a [Interval]>,
    len: usize,
}

impl<'a> Traffic<'a> {
    /// The traffic of a trial.
    pub(crate) fn of(trial: &'a Trial) -> Self {
        let len = trial.series.iter().map(|series| series.intervals.len()).min().unwrap_or(0);
        let clients = trial.series.iter().map(|series| &series.intervals[..len]).collect();
        Self { clients, len }
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

    /// The latencies of all clients in these intervals.
    pub(crate) fn latencies(&self, over: Range<usize>) -> Result<LatencyHistogram, HistogramError> {
        let mut all = LatencyHistogram::new()?;
        for client in &self.clients {
            for latency in
                client[over.clone()].iter().filter_map(|interval| interval.latency.as_ref())
            {
                all.merge(latency)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::trial;
    use tare_record::Series;

    fn interval(start: u64, length: u64, bytes: u64, operations: u64) -> Interval {
        Interval { start: Nanos(start), length: Nanos(length), bytes, operations, latency: None }
    }

    #[test]
    fn clients_are_added_up_over_the_intervals_that_all_have() {
        let mut trial = trial("bridge", 0, &[]);
        trial.series = vec![
            Series {
                client: 0,
                intervals: vec![
                    interval(0, 1_000_000_000, 100, 0),
                    interval(1_000_000_000, 2_000_000_000, 100, 0),
                ],
            },
            Series {
                client: 1,
                intervals: vec![
                    interval(0, 500_000_000, 100, 0),
                    interval(500_000_000, 500_000_000, 300, 0),
                    interval(1_000_000_000, 500_000_000, 999, 0),
                ],
            },
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
    fn a_trial_without_clients_carries_nothing() {
        let trial = trial("bridge", 0, &[]);
        assert_eq!(Traffic::of(&trial).rates(Count::Bytes), Vec::<f64>::new());
    }
}
