//! Ratio of a network to the baseline in one woven block, with the error that its rounds leave.

use crate::compare::block_pairs::{TRIMMED_ROUNDS, round_logs};
use crate::compare::interim::InterimComparison;
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
    /// rounds.
    #[must_use]
    pub fn block_ratios(&self, workload: usize) -> Vec<BlockRatio> {
        let plan = self.plan();
        let Some(baseline) = self.baseline() else { return Vec::new() };
        let mut ratios = Vec::new();
        for shape in 0..plan.shapes.len() {
            for (block, beside) in self.main_estimates(shape, workload, baseline) {
                for network in (0..plan.networks.len()).filter(|&network| network != baseline) {
                    let group = self.main_estimates(shape, workload, network);
                    let Some((_, estimate)) = group.iter().find(|(other, _)| other == block) else {
                        continue;
                    };
                    for &metric in &plan.workloads[workload].metrics {
                        let logs = round_logs(estimate.rounds_of(metric), beside.rounds_of(metric));
                        let found = trimmed_mean(&logs, TRIMMED_ROUNDS)
                            .zip(trimmed_mean_error(&logs, TRIMMED_ROUNDS));
                        if let Some((log_ratio, error)) = found
                            && log_ratio.is_finite()
                            && error.is_finite()
                        {
                            let block = *block;
                            ratios.push(BlockRatio {
                                block,
                                shape,
                                network,
                                metric,
                                log_ratio,
                                error,
                            });
                        }
                    }
                }
            }
        }
        ratios
    }
}
