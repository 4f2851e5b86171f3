//! Which metrics are read off a distribution of latencies, and where in it.

use super::Metric;

/// Which latencies a metric is read off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// From a request's beginning to its response's end.
    RoundTrip,
    /// From client to server.
    OneWay,
    /// Until a connection is made.
    Connect,
}

impl Latency {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::RoundTrip, Self::OneWay, Self::Connect];

    /// Its name, as the metrics that are read off it begin.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "latency",
            Self::OneWay => "one_way",
            Self::Connect => "connect",
        }
    }
}

/// Where in a distribution a metric is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// The share of samples at or below it.
    Quantile(f64),
    /// The largest sample.
    Max,
}

impl Metric {
    /// Which latencies it is read off and where, for a latency: 0.99 of the round trips for `latency_p99`.
    #[must_use]
    pub fn latency(self) -> Option<(Latency, Point)> {
        use Latency::{Connect, OneWay, RoundTrip};
        use Point::{Max, Quantile};
        Some(match self {
            Self::LatencyP50 => (RoundTrip, Quantile(0.50)),
            Self::LatencyP90 => (RoundTrip, Quantile(0.90)),
            Self::LatencyP95 => (RoundTrip, Quantile(0.95)),
            Self::LatencyP99 => (RoundTrip, Quantile(0.99)),
            Self::LatencyP999 => (RoundTrip, Quantile(0.999)),
            Self::LatencyP9999 => (RoundTrip, Quantile(0.9999)),
            Self::LatencyMax => (RoundTrip, Max),
            Self::OneWayP50 => (OneWay, Quantile(0.50)),
            Self::OneWayP99 => (OneWay, Quantile(0.99)),
            Self::OneWayP999 => (OneWay, Quantile(0.999)),
            Self::OneWayMax => (OneWay, Max),
            Self::ConnectP50 => (Connect, Quantile(0.50)),
            Self::ConnectP99 => (Connect, Quantile(0.99)),
            Self::ConnectP999 => (Connect, Quantile(0.999)),
            Self::ConnectMax => (Connect, Max),
            _ => return None,
        })
    }

    /// The share of samples at or below the figure, for a latency percentile: 0.99 for `latency_p99`.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self.latency() {
            Some((_, Point::Quantile(share))) => Some(share),
            _ => None,
        }
    }
}
