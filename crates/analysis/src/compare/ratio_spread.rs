//! Spread of ratios from block to block, as estimated from a pilot.

use crate::Error;
use crate::compare::block_pairs::{is_same_comparison, pair_by_block};
use crate::compare::cell_draft::margin;
use crate::compare::verdict::TEST_LEVEL;
use crate::estimate::trial_group::{GroupSamples, TrialGroup, group_trials};
use std::collections::BTreeMap;
use tare_record::{ComparedBy, Metric, Plan, Trial};
use tare_stats::confidence_sequence::half_width;
use tare_stats::describe::mean;
use tare_stats::sample_size::sd_upper_limit;

/// Spread of one metric of one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioSpread {
    /// Metric that spreads.
    pub metric: Metric,
    /// Standard deviation of the log ratio to the baseline over blocks, pooled over networks and shapes: the root of
    /// the mean variance, each network's weighted by its degrees of freedom. If there is no baseline to compare with,
    /// the standard deviation of the logarithm of the figures themselves.
    pub log_ratio: f64,
    /// 80 % upper confidence limit of the spread, for sizing a run with care
    /// ([`sd_upper_limit`](tare_stats::sample_size::sd_upper_limit)).
    pub upper: f64,
}

/// Estimates the spreads in these trials, by `WORKLOAD/METRIC`. Metrics that are withheld, somewhere 0, or have fewer
/// than two blocks are left out.
///
/// # Errors
/// Returns an error if a trial's histograms cannot be added up.
pub fn estimate_spreads(
    plan: &Plan,
    trials: &[&Trial],
) -> Result<BTreeMap<String, RatioSpread>, Error> {
    let mut pools: BTreeMap<String, (Metric, VariancePool)> = BTreeMap::new();
    for together in group_trials(plan, trials)?.chunk_by(is_same_comparison) {
        let workload = &plan.workloads[together[0].workload];
        // A metric that is compared by difference has no logarithm, and sizes no run.
        let sizing = |metric: &&Metric| metric.compared_by() == ComparedBy::Ratio;
        for &metric in workload.metrics.iter().filter(sizing) {
            let key = format!("{}/{metric}", workload.name);
            let (_, pool) = pools.entry(key).or_insert((metric, VariancePool::default()));
            pool.add(&log_figures(plan, together, metric));
        }
    }
    let spread = |(key, (metric, pool)): (String, (Metric, VariancePool))| {
        let (log_ratio, upper) = pool.deviation()?;
        Some((key, RatioSpread { metric, log_ratio, upper }))
    };
    Ok(pools.into_iter().filter_map(spread).collect())
}

/// Returns `true` if the confidence sequences of all ratios that size a run are as narrow as their precision. Metrics
/// that are withheld or somewhere 0 never are, and do not count.
///
/// # Errors
/// Returns an error if a trial's histograms cannot be added up.
pub fn is_narrow_enough(
    plan: &Plan,
    trials: &[&Trial],
    precision: Option<f64>,
) -> Result<bool, Error> {
    for together in group_trials(plan, trials)?.chunk_by(is_same_comparison) {
        let sizing = |metric: &&Metric| metric.decides_block_count();
        for &metric in plan.workloads[together[0].workload].metrics.iter().filter(sizing) {
            let wanted = precision.unwrap_or(margin(plan, metric) / 2.0).ln_1p();
            let told = |logs: &Vec<f64>| !logs.is_empty() && logs.iter().all(|log| log.is_finite());
            let mut halves = log_figures(plan, together, metric)
                .into_iter()
                .filter(told)
                .map(|logs| half_width(&logs, 1.0 - TEST_LEVEL).unwrap_or(f64::INFINITY));
            if halves.any(|half| half > wanted) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns the logarithms whose spread counts: of each network's ratios to the baseline, or of the figures of each
/// network if the baseline has none or is alone.
fn log_figures(plan: &Plan, together: &[TrialGroup<'_>], metric: Metric) -> Vec<Vec<f64>> {
    let is_baseline = |group: &TrialGroup<'_>| plan.networks[group.network].label == plan.baseline;
    let baseline = together
        .iter()
        .find(|group| is_baseline(group))
        .map(|group| group.samples_of_metric(metric));
    let others: Vec<GroupSamples> = together
        .iter()
        .filter(|group| !is_baseline(group))
        .map(|group| group.samples_of_metric(metric))
        .collect();
    match baseline {
        Some(baseline) if !baseline.samples().is_empty() && !others.is_empty() => others
            .iter()
            .map(|other| {
                pair_by_block(other, &baseline).iter().map(|(a, b)| a.ln() - b.ln()).collect()
            })
            .collect(),
        baseline => others
            .iter()
            .chain(&baseline)
            .map(|sampled| sampled.samples().iter().map(|sample| sample.value.ln()).collect())
            .collect(),
    }
}

/// Pooled variance of samples with different means.
#[derive(Default)]
struct VariancePool {
    squares: f64,
    degrees: f64,
    independent: f64,
}

impl VariancePool {
    /// Correlation of two networks' sample variances. Their log ratios share the baseline's own noise and are
    /// correlated by about a half, their variances by the square of that.
    const SHARED: f64 = 0.25;

    /// Adds the samples of one comparison, except those whose spread is unknown: fewer than two values, or the
    /// logarithm of 0 among them.
    fn add(&mut self, samples: &[Vec<f64>]) {
        let known: Vec<(f64, &[f64])> = samples
            .iter()
            .filter(|values| values.len() > 1)
            .filter_map(|values| Some((mean(values).filter(|mean| mean.is_finite())?, &values[..])))
            .collect();
        let others = known.len().saturating_sub(1) as f64;
        for (mean, values) in known {
            let degrees = (values.len() - 1) as f64;
            self.squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            self.degrees += degrees;
            self.independent += degrees / (1.0 + Self::SHARED * others);
        }
    }

    /// Returns the pooled standard deviation and its upper limit.
    fn deviation(&self) -> Option<(f64, f64)> {
        let pooled = (self.degrees > 0.0).then(|| (self.squares / self.degrees).sqrt())?;
        Some((pooled, sd_upper_limit(pooled, self.independent.max(1.0))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{SeededRandom, plan, trial, workload};

    const MILLION: f64 = 1e6;

    fn found(baseline: &str, trials: &[Trial]) -> BTreeMap<String, RatioSpread> {
        let metrics = [Metric::Throughput, Metric::LatencyP99];
        let mut plan = plan(&["host", "bridge", "veth"], vec![workload("tcp-stream", &metrics)]);
        plan.baseline = baseline.to_owned();
        estimate_spreads(&plan, &trials.iter().collect::<Vec<_>>()).unwrap()
    }

    /// Returns a trial of ten equal intervals, so that its figure equals that of each interval.
    fn steady(label: &str, block: u32, level: f64) -> Trial {
        trial(label, block, &[(level * MILLION) as u64; 10])
    }

    #[test]
    fn the_spread_is_that_of_the_ratios_and_drift_is_not_in_it() {
        let mut chance = SeededRandom::seeded(5);
        let mut trials = Vec::new();
        for block in 0..400 {
            let drift = (0.5 * chance.normal()).exp();
            trials.push(steady("host", block, drift));
            trials.push(steady("bridge", block, 0.8 * drift * (0.03 * chance.normal()).exp()));
            trials.push(steady("veth", block, 0.9 * drift * (0.05 * chance.normal()).exp()));
        }
        let spreads = found("host", &trials);
        assert_eq!(spreads.keys().collect::<Vec<_>>(), ["tcp-stream/throughput"]);
        let expected = f64::sqrt((0.03f64.powi(2) + 0.05f64.powi(2)) / 2.0);
        let log_ratio = spreads["tcp-stream/throughput"].log_ratio;
        assert!((log_ratio / expected - 1.0).abs() < 0.06, "{log_ratio}");
    }

    #[test]
    fn after_a_short_pilot_the_upper_limit_lies_above_the_truth_in_four_of_five() {
        let networks = ["host", "a", "b", "c", "d", "e", "f", "g"];
        let plan = plan(&networks, vec![workload("tcp-stream", &[Metric::Throughput])]);
        let mut chance = SeededRandom::seeded(8);
        let (runs, noise) = (1_000, 0.02);
        let above = (0..runs)
            .filter(|_| {
                let trials: Vec<Trial> = (0..3)
                    .flat_map(|block| networks.map(|label| (label, block)))
                    .map(|(label, block)| steady(label, block, (noise * chance.normal()).exp()))
                    .collect();
                let found = estimate_spreads(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
                found["tcp-stream/throughput"].upper >= noise * 2f64.sqrt()
            })
            .count();
        let share = above as f64 / f64::from(runs);
        assert!((0.77..=0.85).contains(&share), "{share}");
    }

    #[test]
    fn without_a_baseline_it_is_that_of_the_figures() {
        let trials = [steady("bridge", 0, 1.0), steady("bridge", 1, 2.0)];
        for baseline in ["host", "bridge"] {
            let log_ratio = found(baseline, &trials)["tcp-stream/throughput"].log_ratio;
            assert!((log_ratio - 2f64.ln() / 2f64.sqrt()).abs() < 1e-9, "{log_ratio}");
        }
    }

    #[test]
    fn what_has_no_spread_is_left_out() {
        assert!(found("host", &[]).is_empty());
        assert!(found("host", &[steady("host", 0, 1.0), steady("bridge", 0, 1.0)]).is_empty());
        let silent = [
            steady("host", 0, 1.0),
            steady("bridge", 0, 0.0),
            steady("host", 1, 1.0),
            steady("bridge", 1, 1.0),
        ];
        assert!(found("host", &silent).is_empty());
    }
}
