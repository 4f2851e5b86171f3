//! Formulas of metrics: from which records of a trial a figure is computed, and how.

use super::latency::{LatencyKind, LatencyStatistic};

/// Bits of a byte in units of 10⁹: the factor from bytes per second to Gbit/s.
pub const GIGABITS: f64 = 8.0 / 1e9;

/// Quantity of traffic that is counted in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficCount {
    /// Payload bytes received.
    Bytes,
    /// Transactions completed.
    Operations,
    /// Payload bytes of datagrams sent.
    Offered,
    /// Datagrams sent.
    Sent,
    /// Datagrams received, each once.
    Received,
    /// Datagrams received again.
    Duplicates,
    /// Datagrams received out of order.
    Reordered,
    /// TCP segments retransmitted.
    Retransmits,
}

/// Event that a hardware counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardwareEvent {
    /// CPU cycles.
    Cycles,
    /// Instructions executed.
    Instructions,
}

/// Goal of a search for the highest rate (RFC 9971).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchGoal {
    /// No datagram is lost (NDR).
    NoLoss,
    /// A chosen share is lost at most (PDR).
    PartialLoss,
}

/// Unit of a rate that a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchUnit {
    /// Payload, Gbit/s.
    Payload,
    /// Datagrams per second.
    Datagrams,
}

/// Figure of a network itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFigure {
    /// Duration of the setup, until every client has reached its server, ms.
    SetUp,
    /// Duration of the teardown, ms.
    TearDown,
    /// Share of the clients with a route to an address outside of the network, %.
    RoutesOut,
    /// Number of ports that the network's bridge takes.
    BridgePorts,
}

/// Formula of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricFormula {
    /// Counts per second.
    Rate {
        /// Quantity that is counted.
        of: TrafficCount,
        /// Factor from counts per second to the metric's unit.
        scale: f64,
    },
    /// Counts for every hundred datagrams received, %.
    ShareOfReceived(TrafficCount),
    /// Datagrams sent and not received, % of those sent.
    LossRatio,
    /// Mean jitter over datagrams, µs.
    Jitter,
    /// Result of a search for a rate.
    Search(SearchGoal, SearchUnit),
    /// Statistic of a latency distribution, µs.
    Latency(LatencyKind, LatencyStatistic),
    /// CPU time of the whole machine, s, for every `each` counts.
    CpuPer {
        /// Quantity that is counted.
        of: TrafficCount,
        /// Number of counts for which the time is given.
        each: f64,
    },
    /// Hardware events of the machine for each count.
    EventsPer(HardwareEvent, TrafficCount),
    /// Busy share of the time of all cores, %.
    CpuBusy,
    /// Share of softirqs in the time of that core whose share is the largest, %.
    SoftirqCore,
    /// Rate that only external programs state. Rates of several clients are added.
    StatedRate,
    /// Mean that only external programs state.
    StatedMean,
    /// Figure of the network itself, whatever the workload.
    Network(NetworkFigure),
}
