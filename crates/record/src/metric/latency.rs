//! Statistics of latency distributions.

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
