//! Interval records: what the side that counts saw in a short stretch of a trial.

use crate::{HistogramError, LatencyHistogram, Metric, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A short stretch of a trial, as the side that counts saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its start after the trial's first payload, ns.
    pub start: Nanos,
    /// Its length, ns: really elapsed, not the one asked for.
    pub length: Nanos,
    /// Payload bytes received in it.
    #[serde(default)]
    pub bytes: u64,
    /// Transactions completed in it.
    #[serde(default)]
    pub operations: u64,
    /// The latencies of those transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyHistogram>,
    /// How long requests were on their way from client to server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<LatencyHistogram>,
    /// How long connections took to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<LatencyHistogram>,
    /// What became of the datagrams that were sent in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// What the sending kernel said of the TCP connections at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpState>,
}

impl Interval {
    /// Adds what another thread, process or side counted in the same interval.
    ///
    /// # Errors
    /// As [`LatencyHistogram::merge`].
    pub fn merge(&mut self, other: Self) -> Result<(), HistogramError> {
        self.bytes += other.bytes;
        self.operations += other.operations;
        add_latencies(&mut self.latency, other.latency)?;
        add_latencies(&mut self.one_way, other.one_way)?;
        add_latencies(&mut self.connect, other.connect)?;
        self.datagrams = both(self.datagrams, other.datagrams, Datagrams::plus);
        self.tcp = both(self.tcp, other.tcp, TcpState::plus);
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

/// The sum of two, where there are two.
fn both<T>(one: Option<T>, two: Option<T>, sum: fn(T, T) -> T) -> Option<T> {
    match (one, two) {
        (Some(one), Some(two)) => Some(sum(one, two)),
        (one, two) => one.or(two),
    }
}

/// The mean of two numbers with their weights; nought where both weigh nothing.
fn weighted(one: Nanos, weight: u64, two: Nanos, other: u64) -> Nanos {
    let all = u128::from(weight) + u128::from(other);
    let sum = u128::from(one.0) * u128::from(weight) + u128::from(two.0) * u128::from(other);
    Nanos(sum.checked_div(all).and_then(|mean| u64::try_from(mean).ok()).unwrap_or(0))
}

/// Datagrams by the interval in which they were *sent*: so that none is lost in one interval and won in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// Sent, as the sender counted.
    pub sent: u64,
    /// Their payload bytes.
    pub sent_bytes: u64,
    /// Those of them that came, each once.
    pub received: u64,
    /// Those that came again (RFC 5560).
    pub duplicates: u64,
    /// Those that came after one sent later on the same flow (RFC 4737).
    pub reordered: u64,
    /// Interarrival jitter (RFC 3550), mean over those that came, ns.
    pub jitter: Nanos,
}

impl Datagrams {
    fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            received: self.received + other.received,
            duplicates: self.duplicates + other.duplicates,
            reordered: self.reordered + other.reordered,
            jitter: weighted(self.jitter, self.received, other.jitter, other.received),
        }
    }
}

/// `TCP_INFO` (tcp(7)) of one client's flows, added up or averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpState {
    /// How many flows were asked.
    pub flows: u32,
    /// Smoothed round-trip time, mean over flows, ns.
    pub rtt: Nanos,
    /// Congestion window, bytes, added up.
    pub window: u64,
    /// Segments sent again within the interval, added up.
    pub retransmits: u64,
    /// The kernel's estimate of the delivery rate, bytes/s, added up.
    pub delivery_rate: u64,
    /// How long it took to ask them, ns.
    #[serde(default)]
    pub asking: Nanos,
}

impl TcpState {
    fn plus(self, other: Self) -> Self {
        Self {
            flows: self.flows + other.flows,
            rtt: weighted(self.rtt, self.flows.into(), other.rtt, other.flows.into()),
            window: self.window + other.window,
            retransmits: self.retransmits + other.retransmits,
            delivery_rate: self.delivery_rate + other.delivery_rate,
            asking: self.asking + other.asking,
        }
    }
}

/// All intervals of one client, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Which client, from 0.
    pub client: u32,
    /// Its intervals.
    pub intervals: Vec<Interval>,
    /// The figures that its tool itself stated, where the traffic was a foreign tool's: each in its metric's unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<Metric, f64>,
}

impl Series {
    /// The intervals of a client.
    #[must_use]
    pub fn of(client: u32, intervals: Vec<Interval>) -> Self {
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
            latency: Some(LatencyHistogram::of([latency]).unwrap()),
            datagrams: Some(Datagrams {
                received,
                jitter: Nanos(jitter),
                sent: received + 1,
                ..Datagrams::default()
            }),
            tcp: Some(TcpState { flows, rtt: Nanos(rtt), window: 5, ..TcpState::default() }),
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
        let latencies = || Some(LatencyHistogram::of([7, 9]).unwrap());
        let full = Interval {
            latency: latencies(),
            one_way: latencies(),
            connect: latencies(),
            datagrams: Some(Datagrams {
                sent: 3,
                received: 2,
                jitter: Nanos(5),
                ..Datagrams::default()
            }),
            tcp: Some(TcpState { flows: 1, rtt: Nanos(8), ..TcpState::default() }),
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
        let (nothing, some) = (Datagrams::default(), TcpState::default());
        assert_eq!((nothing.plus(nothing), some.plus(some)), (nothing, some));
    }
}
