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
    /// Payload that was really offered per second, Gbit/s: the sender's figure, beside which a loss is read.
    #[serde(rename = "offered")]
    Offered,
    /// Datagrams received per second, each once.
    #[serde(rename = "packets")]
    Packets,
    /// Datagrams sent that never came, % (RFC 1242, frame loss rate).
    #[serde(rename = "loss")]
    Loss,
    /// Datagrams that came after one sent later, % of those received (RFC 4737).
    #[serde(rename = "reordered")]
    Reordered,
    /// Datagrams that came again, % of those received (RFC 5560).
    #[serde(rename = "duplicates")]
    Duplicates,
    /// Interarrival jitter, µs (RFC 3550, section 6.4.1), mean over datagrams.
    #[serde(rename = "jitter")]
    Jitter,
    /// TCP segments sent again per second.
    #[serde(rename = "retransmits")]
    Retransmits,
    /// The highest rate at which nothing is lost, Gbit/s of payload (NDR; RFC 2544, RFC 9971).
    #[serde(rename = "ndr")]
    Ndr,
    /// The same in datagrams per second.
    #[serde(rename = "ndr_packets")]
    NdrPackets,
    /// The highest rate at which no more than a chosen share is lost, Gbit/s of payload (PDR; RFC 9971).
    #[serde(rename = "pdr")]
    Pdr,
    /// The same in datagrams per second.
    #[serde(rename = "pdr_packets")]
    PdrPackets,
    /// Request-response pairs completed per second (netperf's TCP_RR).
    #[serde(rename = "transactions")]
    Transactions,
    /// Database transactions completed per second.
    #[serde(rename = "tps")]
    Tps,
    /// Transactions that failed per second.
    #[serde(rename = "errors")]
    Errors,
    /// Connections made, used once and closed per second (netperf's TCP_CRR).
    #[serde(rename = "connections")]
    Connections,
    /// Mean round-trip latency, µs: what a tool says that says no more.
    #[serde(rename = "latency_mean")]
    LatencyMean,
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
    /// Median latency from client to server, µs, where both ends share a clock.
    #[serde(rename = "one_way_p50")]
    OneWayP50,
    /// 99th percentile of latency from client to server, µs.
    #[serde(rename = "one_way_p99")]
    OneWayP99,
    /// 99.9th percentile of latency from client to server, µs.
    #[serde(rename = "one_way_p99.9")]
    OneWayP999,
    /// The largest latency from client to server seen, µs.
    #[serde(rename = "one_way_max")]
    OneWayMax,
    /// Median time to make a connection, µs.
    #[serde(rename = "connect_p50")]
    ConnectP50,
    /// 99th percentile of the time to make a connection, µs.
    #[serde(rename = "connect_p99")]
    ConnectP99,
    /// 99.9th percentile of the time to make a connection, µs.
    #[serde(rename = "connect_p99.9")]
    ConnectP999,
    /// The longest time seen to make a connection, µs.
    #[serde(rename = "connect_max")]
    ConnectMax,
    /// CPU time of the whole machine per GB of payload, s.
    #[serde(rename = "cpu_per_gb")]
    CpuPerGb,
    /// CPU time of the whole machine per transaction or connection, µs.
    #[serde(rename = "cpu_per_op")]
    CpuPerOp,
    /// How much of all cores' time the machine was busy, %.
    #[serde(rename = "cpu_busy")]
    CpuBusy,
    /// Time to bring the network up, until every client has reached its server, ms.
    #[serde(rename = "raise_ms")]
    RaiseMs,
    /// Time to take the network down, ms.
    #[serde(rename = "remove_ms")]
    RemoveMs,
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

/// How a network's figure is put beside the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// As a ratio, on the log scale.
    Ratio,
    /// As a difference in the metric's own unit: nought is a usual figure of it.
    Difference,
}

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

/// A row of the table of metrics.
struct Row {
    metric: Metric,
    name: &'static str,
    unit: &'static str,
    better: Better,
    /// A difference smaller than this share does not matter.
    margin: f64,
}

const fn row(
    metric: Metric,
    name: &'static str,
    unit: &'static str,
    better: Better,
    margin: f64,
) -> Row {
    Row { metric, name, unit, better, margin }
}

/// Every metric, in the order in which tables show them and in which they are declared.
///
/// The margins: two per cent for throughput, wider for round trips, whose trials vary by 5–10 %, and wider still for
/// tails.
const TABLE: [Row; 37] = {
    use Better::{Higher, Lower};
    [
        row(Metric::Throughput, "throughput", "Gbit/s", Higher, 0.02),
        row(Metric::Offered, "offered", "Gbit/s", Higher, 0.02),
        row(Metric::Packets, "packets", "1/s", Higher, 0.02),
        row(Metric::Loss, "loss", "%", Lower, 0.05),
        row(Metric::Reordered, "reordered", "%", Lower, 0.05),
        row(Metric::Duplicates, "duplicates", "%", Lower, 0.05),
        row(Metric::Jitter, "jitter", "µs", Lower, 0.25),
        row(Metric::Retransmits, "retransmits", "1/s", Lower, 0.25),
        row(Metric::Ndr, "ndr", "Gbit/s", Higher, 0.05),
        row(Metric::NdrPackets, "ndr_packets", "1/s", Higher, 0.05),
        row(Metric::Pdr, "pdr", "Gbit/s", Higher, 0.05),
        row(Metric::PdrPackets, "pdr_packets", "1/s", Higher, 0.05),
        row(Metric::Transactions, "transactions", "1/s", Higher, 0.05),
        row(Metric::Tps, "tps", "1/s", Higher, 0.05),
        row(Metric::Errors, "errors", "1/s", Lower, 0.25),
        row(Metric::Connections, "connections", "1/s", Higher, 0.05),
        row(Metric::LatencyMean, "latency_mean", "µs", Lower, 0.05),
        row(Metric::LatencyP50, "latency_p50", "µs", Lower, 0.05),
        row(Metric::LatencyP90, "latency_p90", "µs", Lower, 0.10),
        row(Metric::LatencyP95, "latency_p95", "µs", Lower, 0.10),
        row(Metric::LatencyP99, "latency_p99", "µs", Lower, 0.10),
        row(Metric::LatencyP999, "latency_p99.9", "µs", Lower, 0.25),
        row(Metric::LatencyP9999, "latency_p99.99", "µs", Lower, 0.25),
        row(Metric::LatencyMax, "latency_max", "µs", Lower, 0.25),
        row(Metric::OneWayP50, "one_way_p50", "µs", Lower, 0.05),
        row(Metric::OneWayP99, "one_way_p99", "µs", Lower, 0.10),
        row(Metric::OneWayP999, "one_way_p99.9", "µs", Lower, 0.25),
        row(Metric::OneWayMax, "one_way_max", "µs", Lower, 0.25),
        row(Metric::ConnectP50, "connect_p50", "µs", Lower, 0.05),
        row(Metric::ConnectP99, "connect_p99", "µs", Lower, 0.10),
        row(Metric::ConnectP999, "connect_p99.9", "µs", Lower, 0.25),
        row(Metric::ConnectMax, "connect_max", "µs", Lower, 0.25),
        row(Metric::CpuPerGb, "cpu_per_gb", "s/GB", Lower, 0.05),
        row(Metric::CpuPerOp, "cpu_per_op", "µs", Lower, 0.05),
        row(Metric::CpuBusy, "cpu_busy", "%", Lower, 0.05),
        row(Metric::RaiseMs, "raise_ms", "ms", Lower, 0.25),
        row(Metric::RemoveMs, "remove_ms", "ms", Lower, 0.25),
    ]
};

impl Metric {
    /// Every metric, in the order in which tables show them.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Throughput; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].metric;
            at += 1;
        }
        all
    };

    fn row(self) -> &'static Row {
        // The table stands in the order of declaration, which a test holds.
        &TABLE[self as usize]
    }

    /// The name in JSON, on the command line and in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The unit as it is printed.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.row().unit
    }

    /// Which way is better.
    #[must_use]
    pub fn better(self) -> Better {
        self.row().better
    }

    /// The equivalence margin unless a study says otherwise: a difference smaller than this share does not matter.
    #[must_use]
    pub fn default_margin(self) -> f64 {
        self.row().margin
    }

    /// How a network's figure is put beside the baseline's.
    #[must_use]
    pub fn beside(self) -> Beside {
        match self {
            Self::Loss
            | Self::Reordered
            | Self::Duplicates
            | Self::Retransmits
            | Self::Errors
            | Self::CpuBusy => Beside::Difference,
            _ => Beside::Ratio,
        }
    }

    /// Whether a run is made as long as this metric's precision needs. The others take what precision they get: tails,
    /// jitter and CPU time vary by so much that they would decide alone.
    #[must_use]
    pub fn sizes_runs(self) -> bool {
        matches!(
            self,
            Self::Throughput
                | Self::Packets
                | Self::Ndr
                | Self::NdrPackets
                | Self::Pdr
                | Self::PdrPackets
                | Self::Transactions
                | Self::Tps
                | Self::Connections
                | Self::LatencyP50
                | Self::OneWayP50
                | Self::ConnectP50
        )
    }

    /// What several clients' figures are together, each a tool's own statement: rates add up, of percentiles and of the
    /// largest the worst stands for all (it is never below that of all samples), of other figures the mean. Nothing of
    /// none.
    #[must_use]
    pub fn together(self, figures: &[f64]) -> Option<f64> {
        let sum = || figures.iter().sum::<f64>();
        let largest = || figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self {
            _ if figures.is_empty() => None,
            Self::Throughput
            | Self::Offered
            | Self::Packets
            | Self::Transactions
            | Self::Tps
            | Self::Errors
            | Self::Connections
            | Self::Retransmits => Some(sum()),
            _ if self.latency().is_some() => Some(largest()),
            _ => Some(sum() / figures.len() as f64),
        }
    }

    /// Whether it is a figure of the network itself, whatever the workload: one in each block.
    #[must_use]
    pub fn of_network(self) -> bool {
        matches!(self, Self::RaiseMs | Self::RemoveMs)
    }

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
        assert!(Metric::ALL.is_sorted(), "the table stands in the order of declaration");
        for metric in Metric::ALL {
            assert_eq!(metric.row().metric, metric);
            assert_eq!(metric.name().parse::<Metric>().unwrap(), metric);
            assert_eq!(serde_json::to_string(&metric).unwrap(), format!("\"{}\"", metric.name()));
        }
        assert!("latency_p98".parse::<Metric>().is_err());
    }

    #[test]
    fn statements_of_several_clients_are_one() {
        let figures = [1.0, 4.0];
        assert_eq!(Metric::Tps.together(&figures), Some(5.0));
        assert_eq!(Metric::LatencyP95.together(&figures), Some(4.0));
        assert_eq!(Metric::LatencyMean.together(&figures), Some(2.5));
        assert_eq!(Metric::Throughput.together(&[]), None);
    }
}
