//! Metrics that are statistics of a latency distribution.

use super::Metric;

/// Latency whose distribution a metric describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyKind {
    /// Time from the beginning of a request to the end of its response.
    RoundTrip,
    /// Time from client to server.
    OneWay,
    /// Time to establish a connection.
    Connect,
}

impl LatencyKind {
    /// All latencies.
    pub const ALL: [Self; 3] = [Self::RoundTrip, Self::OneWay, Self::Connect];

    /// Returns the name, which is the prefix of the metrics that describe this latency.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "latency",
            Self::OneWay => "one_way",
            Self::Connect => "connect",
        }
    }
}

/// Statistic of a latency distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatencyStatistic {
    /// Quantile, with its share of samples at or below it, 0–1.
    Quantile(f64),
    /// Largest sample.
    Max,
}

impl Metric {
    /// Returns the latency and the statistic of a latency metric: 0.99 of the round trips for `latency_p99`. Returns
    /// `None` for other metrics.
    #[must_use]
    pub fn latency(self) -> Option<(LatencyKind, LatencyStatistic)> {
        use LatencyKind::{Connect, OneWay, RoundTrip};
        use LatencyStatistic::{Max, Quantile};
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

    /// Returns the quantile of a latency percentile: 0.99 for `latency_p99`. Returns `None` for other metrics.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self.latency() {
            Some((_, LatencyStatistic::Quantile(share))) => Some(share),
            _ => None,
        }
    }
}
