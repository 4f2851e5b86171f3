//! Metrics: their names, units and directions, in one table.

mod compared_by;
mod latency;
mod table;

pub use compared_by::ComparedBy;
pub use latency::{LatencyKind, LatencyStatistic};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use table::{MetricRow, TABLE};

/// Metric that is measured. [`Metric::name`] is its name on the command line and in JSON.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Metric {
    /// Payload received per second, Gbit/s, decimal: the receiver's figure, never the sender's.
    #[serde(rename = "throughput")]
    Throughput,
    /// Payload offered per second, Gbit/s: the sender's figure, for comparison with the loss.
    #[serde(rename = "offered")]
    Offered,
    /// Datagrams received per second, each counted once.
    #[serde(rename = "packets")]
    Packets,
    /// Datagrams sent that never arrived, % (RFC 1242, frame loss rate).
    #[serde(rename = "loss")]
    Loss,
    /// Datagrams that arrived after a later one, % of those received (RFC 4737).
    #[serde(rename = "reordered")]
    Reordered,
    /// Datagrams that arrived again, % of those received (RFC 5560).
    #[serde(rename = "duplicates")]
    Duplicates,
    /// Interarrival jitter, µs (RFC 3550, section 6.4.1), mean over datagrams.
    #[serde(rename = "jitter")]
    Jitter,
    /// TCP segments retransmitted per second.
    #[serde(rename = "retransmits")]
    Retransmits,
    /// Highest rate without any loss, Gbit/s of payload (NDR; RFC 2544, RFC 9971).
    #[serde(rename = "ndr")]
    Ndr,
    /// Highest rate without any loss, datagrams per second (NDR).
    #[serde(rename = "ndr_packets")]
    NdrPackets,
    /// Highest rate at which no more than a chosen share is lost, Gbit/s of payload (PDR; RFC 9971).
    #[serde(rename = "pdr")]
    Pdr,
    /// Highest rate at which no more than a chosen share is lost, datagrams per second (PDR).
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
    /// Connections established, used once and closed per second (netperf's TCP_CRR).
    #[serde(rename = "connections")]
    Connections,
    /// Mean round-trip latency, µs, for external programs that report only a mean.
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
    /// Largest round-trip latency, µs.
    #[serde(rename = "latency_max")]
    LatencyMax,
    /// Median one-way latency from client to server, µs, if both ends share a clock.
    #[serde(rename = "one_way_p50")]
    OneWayP50,
    /// 99th percentile of one-way latency from client to server, µs.
    #[serde(rename = "one_way_p99")]
    OneWayP99,
    /// 99.9th percentile of one-way latency from client to server, µs.
    #[serde(rename = "one_way_p99.9")]
    OneWayP999,
    /// Largest one-way latency from client to server, µs.
    #[serde(rename = "one_way_max")]
    OneWayMax,
    /// Median time to establish a connection, µs.
    #[serde(rename = "connect_p50")]
    ConnectP50,
    /// 99th percentile of the time to establish a connection, µs.
    #[serde(rename = "connect_p99")]
    ConnectP99,
    /// 99.9th percentile of the time to establish a connection, µs.
    #[serde(rename = "connect_p99.9")]
    ConnectP999,
    /// Longest time to establish a connection, µs.
    #[serde(rename = "connect_max")]
    ConnectMax,
    /// CPU time of the whole machine per GB of payload, s.
    #[serde(rename = "cpu_per_gb")]
    CpuPerGb,
    /// CPU time of the whole machine per transaction or connection, µs.
    #[serde(rename = "cpu_per_op")]
    CpuPerOp,
    /// CPU cycles per datagram received, if hardware counters can be read.
    #[serde(rename = "cycles_per_packet")]
    CyclesPerPacket,
    /// Instructions executed per datagram received.
    #[serde(rename = "instructions_per_packet")]
    InstructionsPerPacket,
    /// CPU cycles per byte of payload.
    #[serde(rename = "cycles_per_byte")]
    CyclesPerByte,
    /// Instructions executed per byte of payload.
    #[serde(rename = "instructions_per_byte")]
    InstructionsPerByte,
    /// CPU cycles per transaction or connection.
    #[serde(rename = "cycles_per_op")]
    CyclesPerOp,
    /// Instructions executed per transaction or connection.
    #[serde(rename = "instructions_per_op")]
    InstructionsPerOp,
    /// Busy share of the time that all cores had, %. Time taken by the hypervisor (`steal`) is not part of that time.
    #[serde(rename = "cpu_busy")]
    CpuBusy,
    /// Setup time of the network, until every client has reached its server, ms.
    #[serde(rename = "raise_ms")]
    RaiseMs,
    /// Teardown time of the network, ms.
    #[serde(rename = "remove_ms")]
    RemoveMs,
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Higher is better: throughput, transactions.
    Higher,
    /// Lower is better: latency, loss.
    Lower,
}

/// Error for an unknown name of a metric.
#[derive(Debug, thiserror::Error)]
#[error("unknown metric `{0}`: the metrics are {list}", list = Metric::names().join(", "))]
pub struct UnknownMetric(pub String);

impl Metric {
    /// All metrics, in the order in which tables show them.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Throughput; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].metric;
            at += 1;
        }
        all
    };

    fn row(self) -> &'static MetricRow {
        // The table is in the order of declaration, which a test checks.
        &TABLE[self as usize]
    }

    /// Returns the name in JSON, on the command line and in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the unit as it is printed.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.row().unit
    }

    /// Returns the direction in which the metric improves.
    #[must_use]
    pub fn better(self) -> Better {
        self.row().better
    }

    /// Returns the equivalence margin that applies unless a study sets another: a smaller relative difference does not
    /// matter.
    #[must_use]
    pub fn default_margin(self) -> f64 {
        self.row().margin
    }

    /// Returns true if the metric is a property of the network itself, whatever the workload, with one figure per
    /// block.
    #[must_use]
    pub fn is_of_network(self) -> bool {
        matches!(self, Self::RaiseMs | Self::RemoveMs)
    }

    /// Returns true if the metric is computed from hardware counters. Many machines and most hypervisors do not give
    /// access to them; a run without them does not mention such a metric.
    #[must_use]
    pub fn is_hardware_based(self) -> bool {
        matches!(
            self,
            Self::CyclesPerPacket
                | Self::InstructionsPerPacket
                | Self::CyclesPerByte
                | Self::InstructionsPerByte
                | Self::CyclesPerOp
                | Self::InstructionsPerOp
        )
    }

    /// Returns the names of all metrics.
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
        assert_eq!(Metric::Tps.combine_clients(&figures), Some(5.0));
        assert_eq!(Metric::LatencyP95.combine_clients(&figures), Some(4.0));
        assert_eq!(Metric::LatencyMean.combine_clients(&figures), Some(2.5));
        assert_eq!(Metric::Throughput.combine_clients(&[]), None);
    }
}
