//! Metrics: their names, units, directions and formulas, in one table.

mod clients;
mod formula;
mod latency;
mod table;

pub use formula::{
    GIGABITS, HardwareEvent, MetricFormula, NetworkFigure, SearchGoal, SearchUnit, TrafficCount,
};
pub use latency::{LatencyKind, LatencyStatistic};
pub use table::{Better, ComparedBy, Metric};

use std::fmt;
use std::str::FromStr;
use table::{MetricRow, TABLE};

/// Error for an unknown name of a metric.
#[derive(Debug, thiserror::Error)]
#[error("unknown metric `{0}`: the metrics are {list}", list = Metric::names().join(", "))]
pub struct UnknownMetric(pub String);

impl Metric {
    fn row(self) -> &'static MetricRow {
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

    /// Returns the formula by which a figure is computed.
    #[must_use]
    pub fn formula(self) -> MetricFormula {
        self.row().formula
    }

    /// Returns the scale on which a network's figure is compared with the baseline's.
    #[must_use]
    pub fn compared_by(self) -> ComparedBy {
        self.row().compared_by
    }

    /// Returns true if the precision of this metric decides the number of blocks of a run. Other metrics take the
    /// precision that results: tails, jitter and CPU time vary so much that they alone would decide.
    #[must_use]
    pub fn decides_block_count(self) -> bool {
        self.row().decides
    }

    /// Returns the latency and the statistic of a latency metric: 0.99 of the round trips for `latency_p99`. Returns
    /// `None` for other metrics.
    #[must_use]
    pub fn latency(self) -> Option<(LatencyKind, LatencyStatistic)> {
        match self.formula() {
            MetricFormula::Latency(kind, statistic) => Some((kind, statistic)),
            _ => None,
        }
    }

    /// Returns the quantile of a latency percentile: 0.99 for `latency_p99`. Returns `None` for other metrics.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self.latency() {
            Some((_, LatencyStatistic::Quantile(share))) => Some(share),
            _ => None,
        }
    }

    /// Returns true if the metric is a latency percentile beyond the median, for which a short time has too few samples.
    #[must_use]
    pub fn is_tail(self) -> bool {
        self.quantile().is_some_and(|share| share > 0.5)
    }

    /// Returns true if the metric is a property of the network itself, whatever the workload, with one figure per
    /// block.
    #[must_use]
    pub fn is_of_network(self) -> bool {
        matches!(self.row().formula, MetricFormula::Network(_))
    }

    /// Returns true if the metric is a property of the network itself that every run measures, as it costs nothing: the
    /// duration of a phase. Others are measured only if they are named.
    #[must_use]
    pub fn is_network_duration(self) -> bool {
        let durations = [NetworkFigure::SetUp, NetworkFigure::TearDown];
        matches!(self.row().formula, MetricFormula::Network(figure) if durations.contains(&figure))
    }

    /// Returns true if the metric is computed from hardware counters. Many machines and most hypervisors do not give
    /// access to them; a run without them does not mention such a metric.
    #[must_use]
    pub fn is_hardware_based(self) -> bool {
        matches!(self.row().formula, MetricFormula::EventsPer(..))
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
        for metric in Metric::ALL {
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
