//! Estimates: one figure for each metric of one trial.

pub(crate) mod client_figures;
pub(crate) mod figures;
pub(crate) mod machine_usage;
pub(crate) mod metric_figure;
pub(crate) mod pooled_blocks;
pub(crate) mod rounds;
pub(crate) mod trial_group;
pub(crate) mod warm_up;

use crate::Error;
use crate::estimate::client_figures::{ClientFigures, client_figures};
use crate::estimate::figures::figures;
use crate::estimate::metric_figure::MetricFigure;
use crate::estimate::rounds::round_figures;
use crate::estimate::warm_up::TrialWarmUp;
use crate::select::trial_traffic::TrialTraffic;
use std::collections::BTreeMap;
use tare_record::{Metric, Trial, WorkloadPlan};
use tare_stats::shift::LevelShift;

/// Estimate of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialEstimate {
    /// Figure of each metric of the plan.
    pub figures: BTreeMap<Metric, MetricFigure>,
    /// Figures of the rounds of a woven trial, for metrics that a round is long enough for, or of parts of them. Empty
    /// in a trial in one piece.
    pub rounds: BTreeMap<Metric, Vec<f64>>,
    /// Figures of each client. `None` if there is only one client.
    pub clients: Option<ClientFigures>,
    /// Number of intervals that were cut off as the warm-up.
    pub cut: usize,
    /// `true` unless the trial was seen not to reach a steady state.
    pub settled: bool,
    /// Change of level inside the steady part.
    pub shift: Option<LevelShift>,
}

impl TrialEstimate {
    /// Returns the figures of the rounds for a metric. Empty if it has none.
    pub(crate) fn rounds_of(&self, metric: Metric) -> &[f64] {
        self.rounds.get(&metric).map_or(&[], Vec::as_slice)
    }
}

/// Computes the figures of one trial, for the metrics of the plan.
///
/// # Errors
/// Returns an error if the trial's histograms cannot be added up.
pub fn estimate(trial: &Trial, plan: &WorkloadPlan) -> Result<TrialEstimate, Error> {
    let traffic = TrialTraffic::from_trial(trial);
    let beginning = TrialWarmUp::from_traffic(&traffic, plan);
    let unreadable =
        |source| Error::Latencies { label: trial.label.clone(), block: trial.block, source };
    Ok(TrialEstimate {
        figures: figures(trial, &traffic, &plan.metrics, beginning.cut).map_err(unreadable)?,
        rounds: round_figures(trial, &traffic, &plan.metrics),
        clients: client_figures(trial, &traffic, plan, beginning.cut).map_err(unreadable)?,
        cut: beginning.cut,
        settled: beginning.settled,
        shift: beginning.shift,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{self, trial, workload};
    use proptest::prelude::*;

    #[test]
    fn throughput_is_bits_over_time_of_what_was_kept() {
        // Ten intervals of 100 ms with 1.25 MB each are 100 Mbit/s; the first interval, with half of that, is cut.
        let mut bytes = [1_250_000; 10];
        bytes[0] = 625_000;
        let found =
            estimate(&trial("bridge", 0, &bytes), &workload("s", &[Metric::Throughput])).unwrap();
        assert_eq!(found.cut, 1);
        let MetricFigure::Value { value, uncut } = found.figures[&Metric::Throughput] else {
            panic!()
        };
        assert!((value - 0.1).abs() < 1e-12 && (uncut - 0.095).abs() < 1e-12);
    }

    #[test]
    fn latencies_are_read_off_all_kept_intervals_together() {
        let latencies: Vec<Vec<u64>> = (0..10).map(|i| vec![(i + 1) * 1_000; 1_000]).collect();
        let trial = test_data::transactions("bridge", 0, &latencies);
        let metrics = [
            Metric::Transactions,
            Metric::LatencyP50,
            Metric::LatencyP99,
            Metric::LatencyP999,
            Metric::LatencyMax,
        ];
        let found = estimate(&trial, &workload("rr", &metrics)).unwrap();
        assert_eq!(found.cut, 1);
        let value = |metric| match found.figures[&metric] {
            MetricFigure::Value { value, .. } => value,
            other => panic!("{metric}: {other:?}"),
        };
        assert!((value(Metric::Transactions) - 10_000.0).abs() < 1e-9);
        assert!((value(Metric::LatencyP50) - 6.0).abs() < 0.01);
        assert!((value(Metric::LatencyMax) - 10.0).abs() < 0.02);
        // 9,000 samples: 90 beyond the 99th percentile, 9 beyond the 99.9th.
        assert_eq!(
            found.figures[&Metric::LatencyP99],
            MetricFigure::Withheld { beyond: 90, needed: 100 }
        );
        assert_eq!(
            found.figures[&Metric::LatencyP999],
            MetricFigure::Withheld { beyond: 9, needed: 100 }
        );
    }

    #[test]
    fn a_trial_that_recorded_nothing_gives_nothing() {
        let metrics = [Metric::Throughput, Metric::LatencyMax];
        let empty = estimate(&trial("bridge", 0, &[]), &workload("s", &metrics)).unwrap();
        assert!(empty.figures.values().all(|figure| *figure == MetricFigure::Absent));
        let silent = estimate(&trial("bridge", 0, &[0; 10]), &workload("s", &metrics)).unwrap();
        assert_eq!(
            silent.figures[&Metric::Throughput],
            MetricFigure::Value { value: 0.0, uncut: 0.0 }
        );
        assert_eq!(silent.figures[&Metric::LatencyMax], MetricFigure::Absent);
    }

    proptest! {
        #[test]
        fn the_figure_lies_between_the_slowest_interval_and_the_fastest(
            bytes in prop::collection::vec(0u64..1_000_000_000, 1..150),
        ) {
            let found = estimate(&trial("x", 0, &bytes), &workload("s", &[Metric::Throughput])).unwrap();
            prop_assert!(found.cut <= bytes.len() / 2);
            let rate = |bytes: &u64| *bytes as f64 * 8.0 / 1e8;
            let least = bytes.iter().map(rate).fold(f64::INFINITY, f64::min);
            let most = bytes.iter().map(rate).fold(0.0, f64::max);
            let MetricFigure::Value { value, uncut } = found.figures[&Metric::Throughput] else { panic!() };
            for figure in [value, uncut] {
                prop_assert!(least * (1.0 - 1e-12) <= figure && figure <= most * (1.0 + 1e-12));
            }
        }
    }
}
