//! How much ratios vary from block to block: what a pilot is for.

use crate::Error;
use crate::group::{Group, Sampled, groups};
use crate::pair::{in_same_blocks, same_comparison};
use crate::verdict::LEVEL;
use std::collections::BTreeMap;
use tare_record::{Beside, Metric, Plan, Trial};
use tare_stats::describe::mean;
use tare_stats::sequence::half_width;
use tare_stats::size::upper_limit;

/// The spread of one metric of one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The metric.
    pub metric: Metric,
    /// The standard deviation of the log ratio to the baseline over blocks, pooled over networks and shapes: the root
    /// of the mean variance, each network's weighted by its degrees of freedom. Where there is nothing to compare
    /// with, that of the logarithm of the figures themselves.
    pub log_ratio: f64,
    /// Its 80 % upper confidence limit, by which a run is sized with care
    /// ([`upper_limit`](tare_stats::size::upper_limit)).
    pub upper: f64,
}

/// The spreads in these trials, by `WORKLOAD/METRIC`. Metrics that are withheld, zero somewhere, or have fewer than
/// two blocks are left out.
///
/// # Errors
/// When a trial's histograms cannot be added up.
pub fn spreads(plan: &Plan, trials: &[&Trial]) -> Result<BTreeMap<String, Spread>, Error> {
    let mut pools: BTreeMap<String, (Metric, Pool)> = BTreeMap::new();
    for together in groups(plan, trials)?.chunk_by(same_comparison) {
        let workload = &plan.workloads[together[0].workload];
        // What is compared by difference has no logarithm, and sizes no run.
        let sizing = |metric: &&Metric| metric.beside() == Beside::Ratio;
        for &metric in workload.metrics.iter().filter(sizing) {
            let key = format!("{}/{metric}", workload.name);
            let (_, pool) = pools.entry(key).or_insert((metric, Pool::default()));
            pool.add(&logs(plan, together, metric));
        }
    }
    let spread = |(key, (metric, pool)): (String, (Metric, Pool))| {
        let (log_ratio, upper) = pool.deviation()?;
        Some((key, Spread { metric, log_ratio, upper }))
    };
    Ok(pools.into_iter().filter_map(spread).collect())
}

/// Whether the confidence sequences of all ratios that size a run are as narrow as their precision. Metrics that are withheld
/// or zero somewhere never are, and do not count.
///
/// # Errors
/// When a trial's histograms cannot be added up.
pub fn narrow_enough(
    plan: &Plan,
    trials: &[&Trial],
    precision: Option<f64>,
) -> Result<bool, Error> {
    let margin = |metric: Metric| {
        plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin())
    };
    for together in groups(plan, trials)?.chunk_by(same_comparison) {
        let sizing = |metric: &&Metric| metric.sizes_runs();
        for &metric in plan.workloads[together[0].workload].metrics.iter().filter(sizing) {
            let wanted = precision.unwrap_or(margin(metric) / 2.0).ln_1p();
            let told = |logs: &Vec<f64>| !logs.is_empty() && logs.iter().all(|log| log.is_finite());
            let mut halves = logs(plan, together, metric)
                .into_iter()
                .filter(told)
                .map(|logs| half_width(&logs, 1.0 - LEVEL).unwrap_or(f64::INFINITY));
            if halves.any(|half| half > wanted) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The logarithms whose spread counts: of each network's ratios to the baseline, or of the figures of each network
/// where the baseline has none or is alone.
fn logs(plan: &Plan, together: &[Group<'_>], metric: Metric) -> Vec<Vec<f64>> {
    let is_baseline = |group: &Group<'_>| plan.networks[group.network].label == plan.baseline;
    let baseline =
        together.iter().find(|group| is_baseline(group)).map(|group| group.sampled(metric));
    let others: Vec<Sampled> = together
        .iter()
        .filter(|group| !is_baseline(group))
        .map(|group| group.sampled(metric))
        .collect();
    match baseline {
        Some(baseline) if !baseline.samples().is_empty() && !others.is_empty() => others
            .iter()
            .map(|other| {
                in_same_blocks(other, &baseline).iter().map(|(a, b)| a.ln() - b.ln()).collect()
            })
            .collect(),
        baseline => others
            .iter()
            .chain(&baseline)
            .map(|sampled| sampled.samples().iter().map(|sample| sample.value.ln()).collect())
            .collect(),
    }
}

/// A variance pooled over samples with means of their own.
#[derive(Default)]
struct Pool {
    squares: f64,
    degrees: f64,
    independent: f64,
}

impl Pool {
    /// The correlation of two networks' sample variances. Their log ratios share the baseline's own noise and are
    /// correlated by about a half, their variances by the square of that.
    const SHARED: f64 = 0.25;

    /// Adds the samples of one comparison, but those without a spread that could be known: fewer than two values, or
    /// the logarithm of zero among them.
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

    /// The pooled standard deviation and its upper limit.
    fn deviation(&self) -> Option<(f64, f64)> {
        let pooled = (self.degrees > 0.0).then(|| (self.squares / self.degrees).sqrt())?;
        Some((pooled, upper_limit(pooled, self.independent.max(1.0))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{Chance, plan, trial, workload};

    const MILLION: f64 = 1e6;

    fn found(baseline: &str, trials: &[Trial]) -> BTreeMap<String, Spread> {
        let metrics = [Metric::Throughput, Metric::LatencyP99];
        let mut plan = plan(&["host", "bridge", "veth"], vec![workload("tcp-stream", &metrics)]);
        plan.baseline = baseline.to_owned();
        spreads(&plan, &trials.iter().collect::<Vec<_>>()).unwrap()
    }

    /// Ten equal intervals, so that the trial's figure is that of each.
    fn steady(label: &str, block: u32, level: f64) -> Trial {
        trial(label, block, &[(level * MILLION) as u64; 10])
    }

    #[test]
    fn the_spread_is_that_of_the_ratios_and_drift_is_not_in_it() {
        let mut chance = Chance::seeded(5);
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
        let mut chance = Chance::seeded(8);
        let (runs, noise) = (1_000, 0.02);
        let above = (0..runs)
            .filter(|_| {
                let trials: Vec<Trial> = (0..3)
                    .flat_map(|block| networks.map(|label| (label, block)))
                    .map(|(label, block)| steady(label, block, (noise * chance.normal()).exp()))
                    .collect();
                let found = spreads(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
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
