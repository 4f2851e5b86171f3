//! Interval records: counts of a short part of a trial, from the side that counts.

use crate::{HistogramError, LatencyHistogram, Metric, Nanos, TrafficCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of a short part of a trial, from the side that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start after the trial's first payload, ns.
    pub start: Nanos,
    /// Length, ns: the time that elapsed, not the requested one.
    pub length: Nanos,
    /// Payload bytes received during the interval.
    #[serde(default)]
    pub bytes: u64,
    /// Transactions completed during the interval.
    #[serde(default)]
    pub operations: u64,
    /// Latencies of those transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyHistogram>,
    /// One-way latencies of requests, from client to server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<LatencyHistogram>,
    /// Times to establish connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<LatencyHistogram>,
    /// Counts of the datagrams that were sent during the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramCounts>,
    /// `TCP_INFO` of the sender's connections at the end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfoTotals>,
}

impl Interval {
    /// Returns a count of the interval.
    #[must_use]
    pub fn count(&self, count: TrafficCount) -> u64 {
        let datagrams = self.datagrams.unwrap_or_default();
        match count {
            TrafficCount::Bytes => self.bytes,
            TrafficCount::Operations => self.operations,
            TrafficCount::Offered => datagrams.sent_bytes,
            TrafficCount::Sent => datagrams.sent,
            TrafficCount::Received => datagrams.received,
            TrafficCount::Duplicates => datagrams.duplicates,
            TrafficCount::Reordered => datagrams.reordered,
            TrafficCount::Retransmits => self.tcp.unwrap_or_default().retransmits,
        }
    }

    /// Adds the counts of another thread, process or side for the same interval.
    ///
    /// # Errors
    /// Fails as [`LatencyHistogram::merge`] does.
    pub fn merge(&mut self, other: Self) -> Result<(), HistogramError> {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.operations = self.operations.saturating_add(other.operations);
        add_latencies(&mut self.latency, other.latency)?;
        add_latencies(&mut self.one_way, other.one_way)?;
        add_latencies(&mut self.connect, other.connect)?;
        self.datagrams = sum_options(self.datagrams, other.datagrams, DatagramCounts::plus);
        self.tcp = sum_options(self.tcp, other.tcp, TcpInfoTotals::plus);
        Ok(())
    }
}

fn add_latencies(
    into: &mut Option<LatencyHistogram>,
    more: Option<LatencyHistogram>,
) -> Result<(), HistogramError> {
    match (into.as_mut(), more) {
        (Some(all), Some(more)) => all.merge(&more),
        (Some(_), None) => Ok(()),
        (None, more) => {
            *into = more;
            Ok(())
        }
    }
}

/// Returns the sum of two values, or the only one if one is missing.
fn sum_options<T>(one: Option<T>, two: Option<T>, sum: fn(T, T) -> T) -> Option<T> {
    match (one, two) {
        (Some(one), Some(two)) => Some(sum(one, two)),
        (one, two) => one.or(two),
    }
}

/// Returns the weighted mean of two numbers, or 0 if both weights are 0.
fn weighted_mean(one: Nanos, weight: u64, two: Nanos, other: u64) -> Nanos {
    let all = u128::from(weight) + u128::from(other);
    let sum = u128::from(one.0) * u128::from(weight) + u128::from(two.0) * u128::from(other);
    Nanos(sum.checked_div(all).and_then(|mean| u64::try_from(mean).ok()).unwrap_or(0))
}

/// Counts of datagrams by the interval in which they were *sent*, so that none is lost in one interval and gained in
/// another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatagramCounts {
    /// Datagrams sent, as counted by the sender.
    pub sent: u64,
    /// Payload bytes of those datagrams.
    pub sent_bytes: u64,
    /// Datagrams of these that arrived, each counted once.
    pub received: u64,
    /// Datagrams that arrived again (RFC 5560).
    pub duplicates: u64,
    /// Datagrams that arrived after a later one of the same flow (RFC 4737).
    pub reordered: u64,
    /// Interarrival jitter (RFC 3550), mean over the datagrams that arrived, ns.
    pub jitter: Nanos,
}

impl DatagramCounts {
    fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            received: self.received + other.received,
            duplicates: self.duplicates + other.duplicates,
            reordered: self.reordered + other.reordered,
            jitter: weighted_mean(self.jitter, self.received, other.jitter, other.received),
        }
    }
}

/// `TCP_INFO` (tcp(7)) of the flows of one client, added or averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpInfoTotals {
    /// Number of flows that were read.
    pub flows: u32,
    /// Smoothed round-trip time, mean over flows, ns.
    pub rtt: Nanos,
    /// Congestion window, bytes, summed over flows.
    pub window: u64,
    /// Segments retransmitted during the interval, summed over flows.
    pub retransmits: u64,
    /// Delivery rate as estimated by the kernel, bytes/s, summed over flows.
    pub delivery_rate: u64,
    /// Time taken to read `TCP_INFO` of the flows, ns.
    #[serde(default)]
    pub asking: Nanos,
}

impl TcpInfoTotals {
    fn plus(self, other: Self) -> Self {
        Self {
            flows: self.flows + other.flows,
            rtt: weighted_mean(self.rtt, self.flows.into(), other.rtt, other.flows.into()),
            window: self.window + other.window,
            retransmits: self.retransmits + other.retransmits,
            delivery_rate: self.delivery_rate + other.delivery_rate,
            asking: self.asking + other.asking,
        }
    }
}

/// Intervals of one client, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Number of the client, from 0.
    pub client: u32,
    /// Intervals of the client.
    pub intervals: Vec<Interval>,
    /// Figures that an external program reported itself, if it made the traffic, each in the unit of its metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<Metric, f64>,
}

impl Series {
    /// Creates the series of a client, without reported figures.
    #[must_use]
    pub fn new(client: u32, intervals: Vec<Interval>) -> Self {
        Self { client, intervals, stated: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_and_all_else_adds_up() {
        let interval = |received, jitter, flows, rtt, latency| Interval {
            bytes: 1,
            operations: 2,
            latency: Some(LatencyHistogram::from_nanos([latency]).unwrap()),
            datagrams: Some(DatagramCounts {
                received,
                jitter: Nanos(jitter),
                sent: received + 1,
                ..DatagramCounts::default()
            }),
            tcp: Some(TcpInfoTotals {
                flows,
                rtt: Nanos(rtt),
                window: 5,
                ..TcpInfoTotals::default()
            }),
            ..Interval::default()
        };
        let mut all = interval(1, 40, 1, 10, 7);
        all.merge(interval(3, 80, 4, 20, 9)).unwrap();
        all.merge(Interval { bytes: 5, ..Interval::default() }).unwrap();
        assert_eq!((all.bytes, all.operations), (7, 4));
        assert_eq!(all.latency.unwrap().count(), 2);
        let datagrams = all.datagrams.unwrap();
        assert_eq!((datagrams.received, datagrams.sent, datagrams.jitter), (4, 6, Nanos(70)));
        let tcp = all.tcp.unwrap();
        assert_eq!((tcp.flows, tcp.rtt, tcp.window), (5, Nanos(18), 10));
    }

    #[test]
    fn what_only_one_counted_is_in_the_sum() {
        let latencies = || Some(LatencyHistogram::from_nanos([7, 9]).unwrap());
        let full = Interval {
            latency: latencies(),
            one_way: latencies(),
            connect: latencies(),
            datagrams: Some(DatagramCounts {
                sent: 3,
                received: 2,
                jitter: Nanos(5),
                ..DatagramCounts::default()
            }),
            tcp: Some(TcpInfoTotals { flows: 1, rtt: Nanos(8), ..TcpInfoTotals::default() }),
            ..Interval::default()
        };
        let (mut one, mut other) = (Interval::default(), full.clone());
        one.merge(full.clone()).unwrap();
        other.merge(Interval::default()).unwrap();
        assert_eq!((&one, &other), (&full, &full));
    }

    #[test]
    fn what_neither_counted_stays_nothing() {
        let mut all = Interval::default();
        all.merge(Interval::default()).unwrap();
        assert_eq!(all, Interval::default());
        let (nothing, some) = (DatagramCounts::default(), TcpInfoTotals::default());
        assert_eq!((nothing.plus(nothing), some.plus(some)), (nothing, some));
    }
}
