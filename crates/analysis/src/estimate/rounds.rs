//! Figures of the rounds of a woven trial: each slice alone.
//!
//! Ratios of woven networks are made within rounds, which lie milliseconds apart, and then averaged over a block. Only
//! metrics that a slice is long enough for have figures of rounds: rates, and the median of round trips.

use crate::select::trial_traffic::TrialTraffic;
use std::collections::BTreeMap;
use tare_record::{LatencyKind, Metric, Nanos, TrafficCount, Trial};

/// Fewest round trips of a slice whose median is taken.
const FEWEST_ROUND_TRIPS: u64 = 200;

/// Returns the figures of every round, for those of these metrics that have any. Returns nothing for a trial in one
/// piece.
pub(crate) fn round_figures(
    trial: &Trial,
    traffic: &TrialTraffic<'_>,
    metrics: &[Metric],
) -> BTreeMap<Metric, Vec<f64>> {
    let mut all = BTreeMap::new();
    if trial.slices.is_none() {
        return all;
    }
    for &metric in metrics {
        let figures = match metric {
            Metric::Throughput => Some(traffic.rates(TrafficCount::Bytes)),
            Metric::Transactions | Metric::Connections | Metric::Tps => {
                Some(traffic.rates(TrafficCount::Operations))
            }
            Metric::LatencyP50 => medians(traffic),
            _ => None,
        };
        all.extend(figures.map(|figures| (metric, figures)));
    }
    all
}

/// Returns the median round trip of every round, µs. Returns `None` if a round has too few.
fn medians(traffic: &TrialTraffic<'_>) -> Option<Vec<f64>> {
    let mut medians = Vec::new();
    for round in 0..traffic.len() {
        let latencies = traffic.latencies(round..round + 1, LatencyKind::RoundTrip);
        let median = latencies
            .filter(|histogram| histogram.count() >= FEWEST_ROUND_TRIPS)
            .and_then(|histogram| histogram.quantile(0.5));
        medians.push(Nanos(median?).as_micros_f64());
    }
    Some(medians)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::{SlicePlan, TrialSlices};

    #[test]
    fn a_rate_of_a_program_has_a_figure_in_every_round() {
        let mut trial = trial("host", 0, &[0, 0]);
        trial.series[0].intervals[0].operations = 50;
        trial.series[0].intervals[1].operations = 75;
        let figures = |trial: &Trial| {
            let traffic = TrialTraffic::from_trial(trial);
            round_figures(trial, &traffic, &[Metric::Tps, Metric::LatencyMean])
        };
        assert!(figures(&trial).is_empty(), "the trial is in one piece");
        let length = trial.series[0].intervals[0].length;
        let plan = SlicePlan { rounds: 2, warm_up: 1, length, skip: Nanos(0) };
        trial.slices = Some(TrialSlices { plan, began: vec![Nanos(0), Nanos(1)] });
        let rates = [50, 75].map(|count| f64::from(count) / length.as_secs_f64());
        assert_eq!(figures(&trial), BTreeMap::from([(Metric::Tps, rates.to_vec())]));
    }
}
