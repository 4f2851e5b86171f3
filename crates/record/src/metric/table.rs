//! Table of metrics, with one row each.

use super::{Better, Metric};

/// Row of the table of metrics.
pub(super) struct MetricRow {
    pub(super) metric: Metric,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// Equivalence margin: a smaller relative difference does not matter.
    pub(super) margin: f64,
}

const fn metric_row(
    metric: Metric,
    name: &'static str,
    unit: &'static str,
    better: Better,
    margin: f64,
) -> MetricRow {
    MetricRow { metric, name, unit, better, margin }
}

/// All metrics, in the order in which tables show them and in which [`Metric`] declares them.
///
/// The margins are 2 % for throughput, wider for round trips, whose trials vary by 5–10 %, and widest for tails.
pub(super) const TABLE: [MetricRow; 43] = {
    use Better::{Higher, Lower};
    [
        metric_row(Metric::Throughput, "throughput", "Gbit/s", Higher, 0.02),
        metric_row(Metric::Offered, "offered", "Gbit/s", Higher, 0.02),
        metric_row(Metric::Packets, "packets", "1/s", Higher, 0.02),
        metric_row(Metric::Loss, "loss", "%", Lower, 0.05),
        metric_row(Metric::Reordered, "reordered", "%", Lower, 0.05),
        metric_row(Metric::Duplicates, "duplicates", "%", Lower, 0.05),
        metric_row(Metric::Jitter, "jitter", "µs", Lower, 0.25),
        metric_row(Metric::Retransmits, "retransmits", "1/s", Lower, 0.25),
        metric_row(Metric::Ndr, "ndr", "Gbit/s", Higher, 0.05),
        metric_row(Metric::NdrPackets, "ndr_packets", "1/s", Higher, 0.05),
        metric_row(Metric::Pdr, "pdr", "Gbit/s", Higher, 0.05),
        metric_row(Metric::PdrPackets, "pdr_packets", "1/s", Higher, 0.05),
        metric_row(Metric::Transactions, "transactions", "1/s", Higher, 0.05),
        metric_row(Metric::Tps, "tps", "1/s", Higher, 0.05),
        metric_row(Metric::Errors, "errors", "1/s", Lower, 0.25),
        metric_row(Metric::Connections, "connections", "1/s", Higher, 0.05),
        metric_row(Metric::LatencyMean, "latency_mean", "µs", Lower, 0.05),
        metric_row(Metric::LatencyP50, "latency_p50", "µs", Lower, 0.05),
        metric_row(Metric::LatencyP90, "latency_p90", "µs", Lower, 0.10),
        metric_row(Metric::LatencyP95, "latency_p95", "µs", Lower, 0.10),
        metric_row(Metric::LatencyP99, "latency_p99", "µs", Lower, 0.10),
        metric_row(Metric::LatencyP999, "latency_p99.9", "µs", Lower, 0.25),
        metric_row(Metric::LatencyP9999, "latency_p99.99", "µs", Lower, 0.25),
        metric_row(Metric::LatencyMax, "latency_max", "µs", Lower, 0.25),
        metric_row(Metric::OneWayP50, "one_way_p50", "µs", Lower, 0.05),
        metric_row(Metric::OneWayP99, "one_way_p99", "µs", Lower, 0.10),
        metric_row(Metric::OneWayP999, "one_way_p99.9", "µs", Lower, 0.25),
        metric_row(Metric::OneWayMax, "one_way_max", "µs", Lower, 0.25),
        metric_row(Metric::ConnectP50, "connect_p50", "µs", Lower, 0.05),
        metric_row(Metric::ConnectP99, "connect_p99", "µs", Lower, 0.10),
        metric_row(Metric::ConnectP999, "connect_p99.9", "µs", Lower, 0.25),
        metric_row(Metric::ConnectMax, "connect_max", "µs", Lower, 0.25),
        metric_row(Metric::CpuPerGb, "cpu_per_gb", "s/GB", Lower, 0.05),
        metric_row(Metric::CpuPerOp, "cpu_per_op", "µs", Lower, 0.05),
        metric_row(Metric::CyclesPerPacket, "cycles_per_packet", "cycles", Lower, 0.05),
        metric_row(
            Metric::InstructionsPerPacket,
            "instructions_per_packet",
            "instructions",
            Lower,
            0.05,
        ),
        metric_row(Metric::CyclesPerByte, "cycles_per_byte", "cycles", Lower, 0.05),
        metric_row(
            Metric::InstructionsPerByte,
            "instructions_per_byte",
            "instructions",
            Lower,
            0.05,
        ),
        metric_row(Metric::CyclesPerOp, "cycles_per_op", "cycles", Lower, 0.05),
        metric_row(Metric::InstructionsPerOp, "instructions_per_op", "instructions", Lower, 0.05),
        metric_row(Metric::CpuBusy, "cpu_busy", "%", Lower, 0.05),
        metric_row(Metric::RaiseMs, "raise_ms", "ms", Lower, 0.25),
        metric_row(Metric::RemoveMs, "remove_ms", "ms", Lower, 0.25),
    ]
};
