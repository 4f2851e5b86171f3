//! The metrics: their names, units and which way is better, in one table.

mod beside;
mod latency;
mod table;

pub use beside::Beside;
pub use latency::{Latency, Point};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use table::{Row, TABLE};

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
    /// Cycles of the processor per datagram received, where its counters may be read.
    #[serde(rename = "cycles_per_packet")]
    CyclesPerPacket,
    /// Instructions carried out per datagram received.
    #[serde(rename = "instructions_per_packet")]
    InstructionsPerPacket,
    /// Cycles of the processor per byte of payload.
    #[serde(rename = "cycles_per_byte")]
    CyclesPerByte,
    /// Instructions carried out per byte of payload.
    #[serde(rename = "instructions_per_byte")]
    InstructionsPerByte,
    /// Cycles of the processor per transaction or connection.
    #[serde(rename = "cycles_per_op")]
    CyclesPerOp,
    /// Instructions carried out per transaction or connection.
    #[serde(rename = "instructions_per_op")]
    InstructionsPerOp,
    /// Busy share of the time that all cores had, %. What the hypervisor took (`steal`) they did not have.
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

    /// Whether it is a figure of the network itself, whatever the workload: one in each block.
    #[must_use]
    pub fn of_network(self) -> bool {
        matches!(self, Self::RaiseMs | Self::RemoveMs)
    }

    /// Whether it is made of hardware counters, which many machines and most hypervisors keep to themselves: a run that has
    /// none does not speak of it.
    #[must_use]
    pub fn of_hardware(self) -> bool {
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
