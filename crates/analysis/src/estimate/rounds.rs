//! Figures of the rounds of a woven trial: each slice alone, or several in a row.
//!
//! Ratios of woven networks are made within rounds, which lie milliseconds apart, and then averaged over a block. A slice
//! is long enough for rates, and for the median of round trips. Percentiles beyond it are those of parts of a block: in
//! one that the machine disturbed, a hundredth of all transactions is soon late.

use crate::estimate::figures::samples_beyond;
use crate::select::trial_traffic::TrialTraffic;
use std::collections::BTreeMap;
use tare_record::{LatencyKind, LatencyStatistic, Metric, Nanos, TrafficCount, Trial};

/// Fewest round trips of a slice whose median is taken.
const FEWEST_ROUND_TRIPS: u64 = 200;

/// Parts of a block whose percentiles beyond the median are taken, and the fewest samples beyond one in a part, on average:
/// a part that the machine disturbed has fewer than the others, and that must not decide.
const PARTS: usize = 5;
const FEWEST_BEYOND: u64 = 15;

/// Returns the figures of every round, or of every part of the rounds, for those of these metrics that have any. Returns
/// nothing for a trial in one piece.
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
            _ => match metric.latency() {
                Some((kind, LatencyStatistic::Quantile(share))) if metric.is_tail() => {
                    percentiles_of_parts(traffic, kind, share)
                }
                _ => None,
            },
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

/// Returns a percentile of every part, µs: of the same number of successive rounds each, or one more. Returns `None` if
/// there are fewer rounds than parts, or if they have too few samples.
fn percentiles_of_parts(
    traffic: &TrialTraffic<'_>,
    kind: LatencyKind,
    share: f64,
) -> Option<Vec<f64>> {
    let rounds = traffic.len();
    let samples = traffic.latencies(0..rounds, kind)?.count();
    if rounds < PARTS || samples_beyond(samples, share) < FEWEST_BEYOND * PARTS as u64 {
        return None;
    }
    let of_part = |part: usize| {
        let latencies = traffic.latencies(part * rounds / PARTS..(part + 1) * rounds / PARTS, kind);
        Some(Nanos(latencies?.quantile(share)?).as_micros_f64())
    };
    (0..PARTS).map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::{LatencyHistogram, SlicePlan, TrialSlices};

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

    /// Returns a trial of as many slices as there are numbers of round trips, each of 1 to 100 µs in turn.
    fn round_trips(slices: &[u64]) -> Trial {
        let mut trial = trial("host", 0, &vec![0; slices.len()]);
        for (interval, &count) in trial.series[0].intervals.iter_mut().zip(slices) {
            let nanos = (0..count).map(|nth| (nth % 100 + 1) * 1_000);
            interval.latency = Some(LatencyHistogram::from_nanos(nanos).unwrap());
        }
        let length = trial.series[0].intervals[0].length;
        let rounds = u32::try_from(slices.len()).unwrap();
        let plan = SlicePlan { rounds, warm_up: 0, length, skip: Nanos(0) };
        trial.slices = Some(TrialSlices { plan, began: vec![Nanos(0); slices.len()] });
        trial
    }

    #[test]
    fn a_tail_has_a_figure_in_every_part_of_a_block() {
        let tails = |slices: &[u64]| {
            let trial = round_trips(slices);
            let metrics = [Metric::LatencyP99, Metric::LatencyMax];
            round_figures(&trial, &TrialTraffic::from_trial(&trial), &metrics)
        };
        // Parts of two rounds each, the last of three.
        let found = tails(&[750; 11]);
        assert_eq!(found.keys().collect::<Vec<_>>(), [&Metric::LatencyP99]);
        assert_eq!(found[&Metric::LatencyP99].len(), PARTS);
        assert!(found[&Metric::LatencyP99].iter().all(|figure| (figure - 99.0).abs() < 0.5));
        assert!(tails(&[681; 11]).is_empty(), "74 samples beyond the percentile");
        let mut disturbed = [900; 11];
        disturbed[4..6].fill(40);
        assert_eq!(tails(&disturbed)[&Metric::LatencyP99].len(), PARTS, "one part has none beyond");
        assert!(tails(&[5_000; 4]).is_empty(), "fewer rounds than parts");
    }
}
