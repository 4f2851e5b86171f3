//! The table of metrics: one line each.

use super::{Better, Metric};

/// A row of the table of metrics.
pub(super) struct Row {
    pub(super) metric: Metric,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// A difference smaller than this share does not matter.
    pub(super) margin: f64,
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
pub(super) const TABLE: [Row; 43] = {
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
        row(Metric::CyclesPerPacket, "cycles_per_packet", "cycles", Lower, 0.05),
        row(Metric::InstructionsPerPacket, "instructions_per_packet", "instructions", Lower, 0.05),
        row(Metric::CyclesPerByte, "cycles_per_byte", "cycles", Lower, 0.05),
        row(Metric::InstructionsPerByte, "instructions_per_byte", "instructions", Lower, 0.05),
        row(Metric::CyclesPerOp, "cycles_per_op", "cycles", Lower, 0.05),
        row(Metric::InstructionsPerOp, "instructions_per_op", "instructions", Lower, 0.05),
        row(Metric::CpuBusy, "cpu_busy", "%", Lower, 0.05),
        row(Metric::RaiseMs, "raise_ms", "ms", Lower, 0.25),
        row(Metric::RemoveMs, "remove_ms", "ms", Lower, 0.25),
    ]
};
