//! The metrics: their names, units and which way is better, in one table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One thing that is measured. The name, as [`Metric::name`] gives it, is what users type and JSON says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Metric {
    /// Payload received per second, Gbit/s, decimal: the receiver's figure, never the sender's.
    #[serde(rename = "throughput")]
    Throughput,
    /// Request-response pairs completed per second (netperf's TCP_RR).
    #[serde(rename = "transactions")]
    Transactions,
    /// Median round-trip latency, µs.
    #[serde(rename = "latency_p50")]
    LatencyP50,
    /// 90th percentile of round-trip latency, µs.
    #[serde(rename = "latency_p90")]
    LatencyP90,
    /// 95th percentile of round-trip latency, µs.
    #[serde(rename = "latency_p95")]
    LatencyP95,
    /// 99th percentile of round-trip latency, µs.
    #[serde(rename = "latency_p99")]
    LatencyP99,
    /// 99.9th percentile of round-trip latency, µs.
    #[serde(rename = "latency_p99.9")]
    LatencyP999,
    /// 99.99th percentile of round-trip latency, µs.
    #[serde(rename = "latency_p99.99")]
    LatencyP9999,
    /// The largest round-trip latency seen, µs.
    #[serde(rename = "latency_max")]
    LatencyMax,
}

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better: throughput, transactions.
    Higher,
    /// Less is better: latency, loss.
    Lower,
}

/// A name that is no metric.
#[derive(Debug, thiserror::Error)]
#[error("unknown metric `{0}`: the metrics are {list}", list = Metric::names().join(", "))]
pub struct UnknownMetric(pub String);

impl Metric {
    /// Every metric, in the order in which tables show them.
    pub const ALL: [Self; 9] = [
        Self::Throughput,
        Self::Transactions,
        Self::LatencyP50,
        Self::LatencyP90,
        Self::LatencyP95,
        Self::LatencyP99,
        Self::LatencyP999,
        Self::LatencyP9999,
        Self::LatencyMax,
    ];

    /// The name in JSON, on the command line and in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Transactions => "transactions",
            Self::LatencyP50 => "latency_p50",
            Self::LatencyP90 => "latency_p90",
            Self::LatencyP95 => "latency_p95",
            Self::LatencyP99 => "latency_p99",
            Self::LatencyP999 => "latency_p99.9",
            Self::LatencyP9999 => "latency_p99.99",
            Self::LatencyMax => "latency_max",
        }
    }

    /// The unit as it is printed.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Throughput => "Gbit/s",
            Self::Transactions => "1/s",
            _ => "µs",
        }
    }

    /// Which way is better.
    #[must_use]
    pub fn better(self) -> Better {
        match self {
            Self::Throughput | Self::Transactions => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// The equivalence margin unless a study says otherwise: a difference smaller than this does not matter.
    ///
    /// Two per cent for throughput, wider for round trips, whose trials vary by 5–10 %, and wider still for tails.
    #[must_use]
    pub fn default_margin(self) -> f64 {
        match self {
            Self::Throughput => 0.02,
            Self::Transactions | Self::LatencyP50 => 0.05,
            Self::LatencyP90 | Self::LatencyP95 | Self::LatencyP99 => 0.10,
            Self::LatencyP999 | Self::LatencyP9999 | Self::LatencyMax => 0.25,
        }
    }

    /// The share of samples at or below the figure, for a latency percentile: 0.99 for `latency_p99`.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::LatencyP50 => Some(0.50),
            Self::LatencyP90 => Some(0.90),
            Self::LatencyP95 => Some(0.95),
            Self::LatencyP99 => Some(0.99),
            Self::LatencyP999 => Some(0.999),
            Self::LatencyP9999 => Some(0.9999),
            Self::LatencyMax | Self::Throughput | Self::Transactions => None,
        }
    }

    /// The names of all metrics.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|metric| metric.name()).collect()
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.name() == name)
            .ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_is_what_json_says() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse::<Metric>().unwrap(), metric);
            assert_eq!(serde_json::to_string(&metric).unwrap(), format!("\"{}\"", metric.name()));
        }
        assert!("latency_p98".parse::<Metric>().is_err());
    }
}
