//! Words for metrics: nouns of what a network costs, and verbs of what it carries.

use tare_record::{ComparedBy, Metric, MetricFormula, NetworkFigure};

/// Group of metrics that sentences speak of in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Work per second, or another capacity: a network costs or gains some of it.
    Rate,
    /// Time that somebody waits: a network adds to it.
    Time,
    /// CPU time or hardware events per unit of work: a network needs more of it.
    Effort,
    /// Share or count that is compared by difference: a network adds points to it.
    Share,
}

/// Metrics of capacity, the most telling first.
pub(crate) const RATES: [Metric; 9] = [
    Metric::Throughput,
    Metric::Packets,
    Metric::Ndr,
    Metric::NdrPackets,
    Metric::Pdr,
    Metric::PdrPackets,
    Metric::Tps,
    Metric::Transactions,
    Metric::Connections,
];

/// Metrics of the usual waiting time, the most telling first.
pub(crate) const MEDIANS: [Metric; 4] =
    [Metric::LatencyP50, Metric::OneWayP50, Metric::ConnectP50, Metric::LatencyMean];

/// Metrics of the tail, the most telling first.
pub(crate) const TAILS: [Metric; 4] =
    [Metric::LatencyP99, Metric::OneWayP99, Metric::ConnectP99, Metric::LatencyP95];

/// Metrics of CPU time.
pub(crate) const EFFORTS: [Metric; 2] = [Metric::CpuPerGb, Metric::CpuPerOp];

/// Returns the group of a metric.
pub(crate) fn kind(metric: Metric) -> MetricKind {
    use MetricFormula::{CpuPer, EventsPer, Network, Rate, Search, StatedRate};
    match (metric.compared_by(), metric.formula()) {
        (ComparedBy::Difference, _) => MetricKind::Share,
        (ComparedBy::Ratio, CpuPer { .. } | EventsPer(..)) => MetricKind::Effort,
        (
            ComparedBy::Ratio,
            Rate { .. } | Search(..) | StatedRate | Network(NetworkFigure::BridgePorts),
        ) => MetricKind::Rate,
        (ComparedBy::Ratio, _) => MetricKind::Time,
    }
}

/// Returns the noun of a metric under a workload: `throughput`, `the median round trip`.
pub(crate) fn noun(metric: Metric, workload: &str) -> String {
    let trip = if is_of_round_trips(workload) { "round trip" } else { "request" };
    let fixed = match metric {
        Metric::Throughput => "throughput",
        Metric::Packets => "datagrams",
        Metric::Ndr => "throughput without loss",
        Metric::NdrPackets => "datagrams without loss",
        Metric::Pdr => "throughput at little loss",
        Metric::PdrPackets => "datagrams at little loss",
        Metric::Tps => "transactions",
        Metric::Connections => "connections",
        Metric::LatencyP50 => return format!("the median {trip}"),
        Metric::LatencyMean => return format!("the mean {trip}"),
        Metric::LatencyP95 => return format!("the 95th percentile of {trip}s"),
        Metric::LatencyP99 => return format!("the 99th percentile of {trip}s"),
        Metric::Transactions => return format!("{trip}s"),
        Metric::OneWayP50 => "the median one-way delay",
        Metric::OneWayP99 => "the 99th percentile of one-way delay",
        Metric::ConnectP50 => "the median time to connect",
        Metric::ConnectP99 => "the 99th percentile of the time to connect",
        Metric::CpuPerGb => "CPU time per byte",
        Metric::CpuPerOp if opens_connections(workload) => "CPU time per connection",
        Metric::CpuPerOp => return format!("CPU time per {trip}"),
        Metric::CpuBusy => "CPU load",
        Metric::SoftirqCore => "the softirq time of one core",
        Metric::RaiseMs => "the time to set the network up",
        Metric::RemoveMs => "the time to tear the network down",
        Metric::RoutesOut => "clients with a route out of the network",
        Metric::BridgePorts => "the ports of the bridge",
        other => other.name(),
    };
    fixed.to_owned()
}

/// Returns what a network does with a figure of this metric: the verb, and the words after the figure.
pub(crate) fn performance(metric: Metric, workload: &str) -> (&'static str, String) {
    let per_second = |noun: String| format!("{noun} per second");
    match metric {
        Metric::Throughput => ("carries", "Gbit/s".to_owned()),
        Metric::Ndr => ("carries", "Gbit/s without loss".to_owned()),
        Metric::Pdr => ("carries", "Gbit/s at little loss".to_owned()),
        Metric::Packets => ("carries", per_second("datagrams".to_owned())),
        Metric::NdrPackets => ("carries", "datagrams per second without loss".to_owned()),
        Metric::PdrPackets => ("carries", "datagrams per second at little loss".to_owned()),
        Metric::Transactions | Metric::Tps => ("completes", per_second(noun(metric, workload))),
        Metric::Connections => ("opens", per_second(noun(metric, workload))),
        Metric::Loss => ("loses", "% of its datagrams".to_owned()),
        Metric::CpuBusy => ("keeps", "% of the machine busy".to_owned()),
        Metric::SoftirqCore => ("keeps", "% of one core in softirqs".to_owned()),
        Metric::RaiseMs => ("takes", "ms to be set up".to_owned()),
        Metric::RemoveMs => ("takes", "ms to be torn down".to_owned()),
        Metric::RoutesOut => ("gives", "% of its clients a route out".to_owned()),
        Metric::BridgePorts => ("takes", "ports on its bridge".to_owned()),
        _ => ("takes", format!("{} for {}", metric.unit(), noun(metric, workload))),
    }
}

/// Returns true if the transactions of a workload are round trips, and not requests to an application.
fn is_of_round_trips(workload: &str) -> bool {
    workload.ends_with("-rr") || workload.ends_with("-crr") || workload.contains("sockperf")
}

/// Returns true if the operations of a workload are connections.
fn opens_connections(workload: &str) -> bool {
    workload.ends_with("-crr")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_words() {
        for metric in Metric::ALL {
            assert!(!noun(metric, "tcp-rr").is_empty());
            let (verb, rest) = performance(metric, "tcp-rr");
            assert!(!verb.is_empty() && !rest.is_empty(), "{metric}");
        }
    }

    #[test]
    fn an_application_answers_requests() {
        assert_eq!(noun(Metric::Transactions, "tcp-rr"), "round trips");
        assert_eq!(noun(Metric::Transactions, "wrk"), "requests");
        assert_eq!(noun(Metric::LatencyP50, "redis"), "the median request");
        assert_eq!(noun(Metric::CpuPerOp, "tcp-crr"), "CPU time per connection");
    }

    #[test]
    fn a_metric_is_spoken_of_by_its_formula() {
        assert!(RATES.into_iter().all(|metric| kind(metric) == MetricKind::Rate));
        assert!(MEDIANS.into_iter().chain(TAILS).all(|metric| kind(metric) == MetricKind::Time));
        assert!(EFFORTS.into_iter().all(|metric| kind(metric) == MetricKind::Effort));
        assert_eq!(kind(Metric::Jitter), MetricKind::Time);
        assert_eq!(kind(Metric::Retransmits), MetricKind::Share);
    }
}
