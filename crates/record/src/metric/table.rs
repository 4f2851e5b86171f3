//! Table of metrics: a row is all that a metric is.
//!
//! From a row follow the metric's name on the command line and in JSON, its schema, its estimate, its comparison, its
//! place in every report and export, and its entry in the reference.

use super::formula::MetricFormula::{
    self, CpuBusy, CpuPer, EventsPer, Jitter, Latency, LossRatio, Network, Rate, Search,
    ShareOfReceived, SoftirqCore, StatedMean, StatedRate,
};
use super::formula::{
    GIGABITS, HardwareEvent, NetworkFigure, SearchGoal, SearchUnit, TrafficCount,
};
use super::latency::{LatencyKind, LatencyStatistic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Higher is better: throughput, transactions.
    Higher,
    /// Lower is better: latency, loss.
    Lower,
}

/// Scale on which a network's figure is compared with the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedBy {
    /// Ratio, on the logarithmic scale.
    Ratio,
    /// Difference in the metric's own unit, for metrics that are often 0.
    Difference,
}

/// Row of the table.
#[derive(Clone, Copy)]
pub(super) struct MetricRow {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// Equivalence margin: a smaller relative difference does not matter.
    pub(super) margin: f64,
    pub(super) formula: MetricFormula,
    pub(super) compared_by: ComparedBy,
    /// True if the precision of this metric decides the number of blocks of a run.
    pub(super) decides: bool,
}

/// Returns a row of a metric that is compared by ratio and does not decide the number of blocks.
const fn row(unit: &'static str, better: Better, margin: f64, formula: MetricFormula) -> MetricRow {
    let (name, compared_by) = ("", ComparedBy::Ratio);
    MetricRow { name, unit, better, margin, formula, compared_by, decides: false }
}

impl MetricRow {
    const fn by_difference(self) -> Self {
        Self { compared_by: ComparedBy::Difference, ..self }
    }

    const fn deciding(self) -> Self {
        Self { decides: true, ..self }
    }
}

const fn rate(of: TrafficCount, scale: f64) -> MetricFormula {
    Rate { of, scale }
}

const fn cpu_per(of: TrafficCount, each: f64) -> MetricFormula {
    CpuPer { of, each }
}

/// Declares the metrics, each from its documentation, its name in code, its name for users and its row.
macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $metric:ident $name:literal => $row:expr,)+) => {
        /// Metric that is measured. [`Metric::name`] is its name on the command line and in JSON.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum Metric {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $metric,)+
        }

        impl Metric {
            /// All metrics, in the order in which tables show them.
            pub const ALL: [Self; TABLE.len()] = [$(Self::$metric,)+];
        }

        /// All rows, in the order in which tables show them.
        pub(super) const TABLE: &[MetricRow] = {
            use Better::{Higher, Lower};
            use HardwareEvent::{Cycles, Instructions};
            use LatencyKind::{Connect, OneWay, RoundTrip};
            use LatencyStatistic::{Max, Quantile};
            use NetworkFigure::{BridgePorts, RoutesOut, SetUp, TearDown};
            use SearchGoal::{NoLoss, PartialLoss};
            use SearchUnit::{Datagrams, Payload};
            use TrafficCount::{Bytes, Duplicates, Offered, Operations, Received, Reordered, Retransmits};
            &[$(MetricRow { name: $name, ..$row },)+]
        };
    };
}

// The margins are 2 % for throughput, wider for round trips, whose trials vary by 5–10 %, and widest for tails.
metrics! {
    /// Payload received per second, Gbit/s, decimal: the receiver's figure, never the sender's.
    Throughput "throughput" => row("Gbit/s", Higher, 0.02, rate(Bytes, GIGABITS)).deciding(),
    /// Payload offered per second, Gbit/s: the sender's figure, for comparison with the loss.
    Offered "offered" => row("Gbit/s", Higher, 0.02, rate(Offered, GIGABITS)),
    /// Datagrams received per second, each counted once.
    Packets "packets" => row("1/s", Higher, 0.02, rate(Received, 1.0)).deciding(),
    /// Datagrams sent that never arrived, % (RFC 1242, frame loss rate).
    Loss "loss" => row("%", Lower, 0.05, LossRatio).by_difference(),
    /// Datagrams that arrived after a later one, % of those received (RFC 4737).
    Reordered "reordered" => row("%", Lower, 0.05, ShareOfReceived(Reordered)).by_difference(),
    /// Datagrams that arrived again, % of those received (RFC 5560).
    Duplicates "duplicates" => row("%", Lower, 0.05, ShareOfReceived(Duplicates)).by_difference(),
    /// Interarrival jitter, µs (RFC 3550, section 6.4.1), mean over datagrams.
    Jitter "jitter" => row("µs", Lower, 0.25, Jitter),
    /// TCP segments retransmitted per second.
    Retransmits "retransmits" => row("1/s", Lower, 0.25, rate(Retransmits, 1.0)).by_difference(),
    /// Highest rate without any loss, Gbit/s of payload (NDR; RFC 2544, RFC 9971).
    Ndr "ndr" => row("Gbit/s", Higher, 0.05, Search(NoLoss, Payload)).deciding(),
    /// Highest rate without any loss, datagrams per second (NDR).
    NdrPackets "ndr_packets" => row("1/s", Higher, 0.05, Search(NoLoss, Datagrams)).deciding(),
    /// Highest rate at which no more than a chosen share is lost, Gbit/s of payload (PDR; RFC 9971).
    Pdr "pdr" => row("Gbit/s", Higher, 0.05, Search(PartialLoss, Payload)).deciding(),
    /// Highest rate at which no more than a chosen share is lost, datagrams per second (PDR).
    PdrPackets "pdr_packets" => row("1/s", Higher, 0.05, Search(PartialLoss, Datagrams)).deciding(),
    /// Request-response pairs completed per second (netperf's TCP_RR).
    Transactions "transactions" => row("1/s", Higher, 0.05, rate(Operations, 1.0)).deciding(),
    /// Database transactions completed per second.
    Tps "tps" => row("1/s", Higher, 0.05, rate(Operations, 1.0)).deciding(),
    /// Transactions that failed per second.
    Errors "errors" => row("1/s", Lower, 0.25, StatedRate).by_difference(),
    /// Connections established, used once and closed per second (netperf's TCP_CRR).
    Connections "connections" => row("1/s", Higher, 0.05, rate(Operations, 1.0)).deciding(),
    /// Mean round-trip latency, µs, for external programs that report only a mean.
    LatencyMean "latency_mean" => row("µs", Lower, 0.05, StatedMean),
    /// Median round-trip latency, µs.
    LatencyP50 "latency_p50" =>
        row("µs", Lower, 0.05, Latency(RoundTrip, Quantile(0.50))).deciding(),
    /// 90th percentile of round-trip latency, µs.
    LatencyP90 "latency_p90" => row("µs", Lower, 0.10, Latency(RoundTrip, Quantile(0.90))),
    /// 95th percentile of round-trip latency, µs.
    LatencyP95 "latency_p95" => row("µs", Lower, 0.10, Latency(RoundTrip, Quantile(0.95))),
    /// 99th percentile of round-trip latency, µs.
    LatencyP99 "latency_p99" => row("µs", Lower, 0.10, Latency(RoundTrip, Quantile(0.99))),
    /// 99.9th percentile of round-trip latency, µs.
    LatencyP999 "latency_p99.9" => row("µs", Lower, 0.25, Latency(RoundTrip, Quantile(0.999))),
    /// 99.99th percentile of round-trip latency, µs.
    LatencyP9999 "latency_p99.99" => row("µs", Lower, 0.25, Latency(RoundTrip, Quantile(0.9999))),
    /// Largest round-trip latency, µs.
    LatencyMax "latency_max" => row("µs", Lower, 0.25, Latency(RoundTrip, Max)),
    /// Median one-way latency from client to server, µs, if both ends share a clock.
    OneWayP50 "one_way_p50" => row("µs", Lower, 0.05, Latency(OneWay, Quantile(0.50))).deciding(),
    /// 99th percentile of one-way latency from client to server, µs.
    OneWayP99 "one_way_p99" => row("µs", Lower, 0.10, Latency(OneWay, Quantile(0.99))),
    /// 99.9th percentile of one-way latency from client to server, µs.
    OneWayP999 "one_way_p99.9" => row("µs", Lower, 0.25, Latency(OneWay, Quantile(0.999))),
    /// Largest one-way latency from client to server, µs.
    OneWayMax "one_way_max" => row("µs", Lower, 0.25, Latency(OneWay, Max)),
    /// Median time to establish a connection, µs.
    ConnectP50 "connect_p50" => row("µs", Lower, 0.05, Latency(Connect, Quantile(0.50))).deciding(),
    /// 99th percentile of the time to establish a connection, µs.
    ConnectP99 "connect_p99" => row("µs", Lower, 0.10, Latency(Connect, Quantile(0.99))),
    /// 99.9th percentile of the time to establish a connection, µs.
    ConnectP999 "connect_p99.9" => row("µs", Lower, 0.25, Latency(Connect, Quantile(0.999))),
    /// Longest time to establish a connection, µs.
    ConnectMax "connect_max" => row("µs", Lower, 0.25, Latency(Connect, Max)),
    /// CPU time of the whole machine per GB of payload, s.
    CpuPerGb "cpu_per_gb" => row("s/GB", Lower, 0.05, cpu_per(Bytes, 1e9)),
    /// CPU time of the whole machine per transaction or connection, µs.
    CpuPerOp "cpu_per_op" => row("µs", Lower, 0.05, cpu_per(Operations, 1e6)),
    /// CPU cycles per datagram received, if hardware counters can be read.
    CyclesPerPacket "cycles_per_packet" => row("cycles", Lower, 0.05, EventsPer(Cycles, Received)),
    /// Instructions executed per datagram received.
    InstructionsPerPacket "instructions_per_packet" =>
        row("instructions", Lower, 0.05, EventsPer(Instructions, Received)),
    /// CPU cycles per byte of payload.
    CyclesPerByte "cycles_per_byte" => row("cycles", Lower, 0.05, EventsPer(Cycles, Bytes)),
    /// Instructions executed per byte of payload.
    InstructionsPerByte "instructions_per_byte" =>
        row("instructions", Lower, 0.05, EventsPer(Instructions, Bytes)),
    /// CPU cycles per transaction or connection.
    CyclesPerOp "cycles_per_op" => row("cycles", Lower, 0.05, EventsPer(Cycles, Operations)),
    /// Instructions executed per transaction or connection.
    InstructionsPerOp "instructions_per_op" =>
        row("instructions", Lower, 0.05, EventsPer(Instructions, Operations)),
    /// Busy share of the time that all cores had, %. Time taken by the hypervisor (`steal`) is not part of that time.
    CpuBusy "cpu_busy" => row("%", Lower, 0.05, CpuBusy).by_difference(),
    /// Largest share of softirqs in the time of one core, %: near 100 % if one core receives all packets.
    SoftirqCore "softirq_core" => row("%", Lower, 0.05, SoftirqCore).by_difference(),
    /// Setup time of the network, until every client has reached its server, ms.
    RaiseMs "raise_ms" => row("ms", Lower, 0.25, Network(SetUp)),
    /// Teardown time of the network, ms.
    RemoveMs "remove_ms" => row("ms", Lower, 0.25, Network(TearDown)),
    /// Clients that have a route to an address outside of the network, % of all. No packet is sent.
    RoutesOut "routes_out" => row("%", Higher, 0.05, Network(RoutesOut)).by_difference(),
    /// Ports that the bridge of the containers has when the kernel refuses one more; up to 2,048 are tried.
    BridgePorts "bridge_ports" => row("ports", Higher, 0.02, Network(BridgePorts)),
}
