//! From one trial to one figure a metric.

use crate::Error;
use crate::beginning::Beginning;
use crate::clients::{Clients, clients};
use crate::figures::figures;
use crate::traffic::Traffic;
use std::collections::BTreeMap;
use tare_record::{Metric, Trial, WorkloadPlan};
use tare_stats::shift::Shift;

/// What one trial says of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// The figure, in the metric's unit.
    Value {
        /// Over the trial's steady part.
        value: f64,
        /// Over the whole trial, warm-up included.
        uncut: f64,
    },
    /// A percentile with fewer than 100 samples beyond it.
    Withheld {
        /// How many there are.
        beyond: u64,
    },
    /// The trial recorded nothing that this metric could be made from.
    Absent,
}

/// What one trial says.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// A figure for each metric of the plan.
    pub figures: BTreeMap<Metric, Figure>,
    /// What each of its clients got; nothing where there was only one.
    pub clients: Option<Clients>,
    /// Intervals that were cut off as its warm-up.
    pub cut: usize,
    /// Whether the trial reached a steady state, as far as was looked.
    pub settled: bool,
    /// What changed inside its steady part.
    pub shift: Option<Shift>,
}

/// The figures of one trial, of the metrics that the plan asks for.
///
/// # Errors
/// When its histograms cannot be added up.
pub fn estimate(trial: &Trial, plan: &WorkloadPlan) -> Result<Estimate, Error> {
    let traffic = Traffic::of(trial);
    let beginning = Beginning::of(&traffic, plan);
    let unreadable =
        |source| Error::Latencies { label: trial.label.clone(), block: trial.block, source };
    Ok(Estimate {
        figures: figures(trial, &traffic, &plan.metrics, beginning.cut).map_err(unreadable)?,
        clients: clients(trial, &traffic, plan, beginning.cut).map_err(unreadable)?,
        cut: beginning.cut,
        settled: beginning.settled,
        shift: beginning.shift,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{self, trial, workload};
    use proptest::prelude::*;

    #[test]
    fn throughput_is_bits_over_time_of_what_was_kept() {
        // Ten intervals of 100 ms with 1.25 MB each are 100 Mbit/s; the first one, of half that, is cut.
        let mut bytes = [1_250_000; 10];
        bytes[0] = 625_000;
        let found =
            estimate(&trial("bridge", 0, &bytes), &workload("s", &[Metric::Throughput])).unwrap();
        assert_eq!(found.cut, 1);
        let Figure::Value { value, uncut } = found.figures[&Metric::Throughput] else { panic!() };
        assert!((value - 0.1).abs() < 1e-12 && (uncut - 0.095).abs() < 1e-12);
    }

    #[test]
    fn latencies_are_read_off_all_kept_intervals_together() {
        let latencies: Vec<Vec<u64>> = (0..10).map(|i| vec![(i + 1) * 1_000; 1_000]).collect();
        let trial = made_up::transactions("bridge", 0, &latencies);
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
            Figure::Value { value, .. } => value,
            other => panic!("{metric}: {other:?}"),
        };
        assert!((value(Metric::Transactions) - 10_000.0).abs() < 1e-9);
        assert!((value(Metric::LatencyP50) - 6.0).abs() < 0.01);
        assert!((value(Metric::LatencyMax) - 10.0).abs() < 0.02);
        // 9,000 samples: 90 beyond the 99th percentile, 9 beyond the 99.9th.
        assert_eq!(found.figures[&Metric::LatencyP99], Figure::Withheld { beyond: 90 });
        assert_eq!(found.figures[&Metric::LatencyP999], Figure::Withheld { beyond: 9 });
    }

    #[test]
    fn a_trial_that_recorded_nothing_gives_nothing() {
        let metrics = [Metric::Throughput, Metric::LatencyMax];
        let empty = estimate(&trial("bridge", 0, &[]), &workload("s", &metrics)).unwrap();
        assert!(empty.figures.values().all(|figure| *figure == Figure::Absent));
        let silent = estimate(&trial("bridge", 0, &[0; 10]), &workload("s", &metrics)).unwrap();
        assert_eq!(silent.figures[&Metric::Throughput], Figure::Value { value: 0.0, uncut: 0.0 });
        assert_eq!(silent.figures[&Metric::LatencyMax], Figure::Absent);
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
            let Figure::Value { value, uncut } = found.figures[&Metric::Throughput] else { panic!() };
            for figure in [value, uncut] {
                prop_assert!(least * (1.0 - 1e-12) <= figure && figure <= most * (1.0 + 1e-12));
            }
        }
    }
}
