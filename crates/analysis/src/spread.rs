//! How much ratios vary from block to block: what a pilot is for.

use crate::Error;
use crate::group::{Group, Sampled, groups};
use crate::pair::{in_same_blocks, same_comparison};
use std::collections::BTreeMap;
use tare_record::{Metric, Plan, Trial};
use tare_stats::describe::mean;

/// The spread of one metric of one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The metric.
    pub metric: Metric,
    /// The standard deviation of the log ratio to the baseline over blocks, pooled over networks and shapes: the root
    /// of the mean variance, each network's weighted by its degrees of freedom. Where there is nothing to compare
    /// with, that of the logarithm of the figures themselves.
    pub log_ratio: f64,
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
        for &metric in &workload.metrics {
            let key = format!("{}/{metric}", workload.name);
            let (_, pool) = pools.entry(key).or_insert((metric, Pool::default()));
            for logs in logs(plan, together, metric) {
                pool.add(&logs);
            }
        }
    }
    let spread = |(key, (metric, pool)): (String, (Metric, Pool))| {
        Some((key, Spread { metric, log_ratio: pool.deviation()? }))
    };
    Ok(pools.into_iter().filter_map(spread).collect())
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
    degrees: usize,
}

impl Pool {
    /// Adds a sample, unless it has no spread that could be known: fewer than two values, or the logarithm of zero.
    fn add(&mut self, values: &[f64]) {
        let Some(mean) = mean(values).filter(|mean| mean.is_finite()) else {
            return;
        };
        self.squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        self.degrees += values.len() - 1;
    }

    fn deviation(&self) -> Option<f64> {
        (self.degrees > 0).then(|| (self.squares / self.degrees as f64).sqrt())
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
