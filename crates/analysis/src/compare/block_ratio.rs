//! Ratio of a network to the baseline in one woven block, with the error that its rounds leave.

use crate::compare::block_pairs::{TRIMMED_ROUNDS, round_logs};
use crate::compare::interim::{BlockEstimate, InterimComparison};
use crate::estimate::TrialEstimate;
use tare_record::Metric;
use tare_stats::describe::{trimmed_mean, trimmed_mean_error};

/// Ratio of a network to the baseline in one woven block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockRatio {
    /// Number of the block.
    pub block: u32,
    /// Index of the shape in the plan.
    pub shape: usize,
    /// Index of the network in the plan.
    pub network: usize,
    /// Metric of the figures.
    pub metric: Metric,
    /// Trimmed mean of the rounds' log ratios.
    pub log_ratio: f64,
    /// Standard error of that mean, from the rounds' spread.
    pub error: f64,
}

impl InterimComparison {
    /// Returns the ratios of a workload in the blocks of the main phase so far, for all metrics that have figures of
    /// single rounds.
    #[must_use]
    pub fn block_ratios(&self, workload: usize) -> Vec<BlockRatio> {
        let plan = self.plan();
        let Some(baseline) = self.baseline() else { return Vec::new() };
        let mut ratios = Vec::new();
        for shape in 0..plan.shapes.len() {
            let beside = self.main_estimates(shape, workload, baseline);
            for network in (0..plan.networks.len()).filter(|&network| network != baseline) {
                let pairs = common_blocks(self.main_estimates(shape, workload, network), beside);
                for (block, estimate, beside) in pairs {
                    let metrics = plan.workloads[workload].metrics.iter();
                    // Percentiles beyond the median have figures of a few parts, which tell little about the error.
                    let metrics = metrics.filter(|metric| !metric.is_tail());
                    ratios.extend(metrics.filter_map(|&metric| {
                        let logs = round_logs(estimate.rounds_of(metric), beside.rounds_of(metric));
                        let (log_ratio, error) = mean_with_error(&logs)?;
                        Some(BlockRatio { block, shape, network, metric, log_ratio, error })
                    }));
                }
            }
        }
        ratios
    }
}

/// Returns the blocks in which two networks have trials, with both estimates.
fn common_blocks<'e>(
    one: &'e [BlockEstimate],
    other: &'e [BlockEstimate],
) -> impl Iterator<Item = (u32, &'e TrialEstimate, &'e TrialEstimate)> {
    one.iter().filter_map(|(block, estimate)| {
        let (_, beside) = other.iter().find(|(beside, _)| beside == block)?;
        Some((*block, estimate, beside))
    })
}

/// Returns the trimmed mean of log ratios and its standard error. Returns `None` if either is not a number.
fn mean_with_error(logs: &[f64]) -> Option<(f64, f64)> {
    let mean = trimmed_mean(logs, TRIMMED_ROUNDS).filter(|mean| mean.is_finite())?;
    let error = trimmed_mean_error(logs, TRIMMED_ROUNDS).filter(|error| error.is_finite())?;
    Some((mean, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, trial, workload};
    use tare_record::{Nanos, SlicePlan, TrialSlices};

    #[test]
    fn every_network_has_a_ratio_in_every_block_that_it_shares_with_the_baseline() {
        let plan = plan(&["host", "veth"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let mut interim = InterimComparison::new(plan);
        for (label, block, level) in
            [("host", 0, 1_000), ("veth", 0, 800), ("host", 1, 1_000), ("veth", 2, 800)]
        {
            let mut trial = trial(label, block, &[level; 10]);
            let length = trial.series[0].intervals[0].length;
            let plan = SlicePlan { rounds: 10, warm_up: 0, length, skip: Nanos(0) };
            trial.slices = Some(TrialSlices { plan, began: Vec::new() });
            interim.add(&trial).unwrap();
        }
        let ratios = interim.block_ratios(0);
        assert_eq!(ratios.len(), 1, "{ratios:?}");
        assert_eq!((ratios[0].block, ratios[0].network), (0, 1));
        assert!((ratios[0].log_ratio - 0.8f64.ln()).abs() < 1e-9 && ratios[0].error < 1e-9);
    }
}
