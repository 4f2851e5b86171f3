//! Decision of an interim analysis: the networks that need no more blocks.
//!
//! A network is decided in a shape when all its ratios that determine the number of blocks have a verdict and are
//! precise enough, and its percentiles have enough samples. The intervals hold over all analyses, whatever is decided
//! by them.

use crate::compare::analysis_history::AnalysisHistory;
use crate::compare::cell_draft::margin;
use crate::compare::interim::{InterimCell, InterimComparison};
use crate::estimate::figures::MIN_SAMPLES_BEYOND;
use crate::estimate::metric_figure::MetricFigure;
use std::collections::BTreeMap;
use tare_record::{
    BlockPolicy, DecidedNetwork, InterimAnalysis, LatencyStatistic, Metric, RemainingPlan, Verdict,
};

/// Share of a difference that is precise enough, whatever the margin: two digits of it are known then.
const SHARE_OF_DIFFERENCE: f64 = 0.1;

/// Largest percentile that a network must have before it is decided.
const LAST_PERCENTILE: f64 = 0.99;

/// Cells of all networks, by workload and metric.
type ShapeCells = BTreeMap<(usize, Metric), Vec<InterimCell>>;

impl InterimComparison {
    /// Analyses the run when so many blocks are complete, and this share of the planned information is there: decides
    /// which of the networks that are still measured need no more blocks. The baseline is never decided.
    #[must_use]
    pub fn analyse(
        &self,
        blocks: u32,
        information: f64,
        standing: &RemainingPlan,
    ) -> InterimAnalysis {
        let history = AnalysisHistory::at_interim(self.analyses(), information);
        let plan = self.plan();
        let mut decided = Vec::new();
        for (shape, planned) in plan.shapes.iter().enumerate() {
            let cells = self.deciding_cells(shape, history);
            for (network, entry) in plan.networks.iter().enumerate() {
                if entry.label != plan.baseline
                    && standing.has_turn(network, shape)
                    && self.suffices(network, shape, &cells, standing)
                {
                    let network = entry.label.clone();
                    decided.push(DecidedNetwork { network, shape: planned.clone() });
                }
            }
        }
        InterimAnalysis { blocks, information, decided }
    }

    /// Returns the cells of the metrics that determine the number of blocks, in a shape.
    fn deciding_cells(&self, shape: usize, history: AnalysisHistory<'_>) -> ShapeCells {
        let mut cells = ShapeCells::new();
        for (workload, planned) in self.plan().workloads.iter().enumerate() {
            for &metric in planned.metrics.iter().filter(|metric| metric.decides_block_count()) {
                let found = self.cells_by((shape, workload, metric), history);
                cells.insert((workload, metric), found);
            }
        }
        cells
    }

    /// Returns true if a network needs no more blocks in a shape.
    fn suffices(
        &self,
        network: usize,
        shape: usize,
        cells: &ShapeCells,
        standing: &RemainingPlan,
    ) -> bool {
        let is_measured = |workload: usize| standing.has_trial(network, workload, shape);
        let ratios = cells
            .iter()
            .filter(|((workload, _), _)| is_measured(*workload))
            .filter_map(|((_, metric), cells)| Some((*metric, cells[network].ratio?)));
        let ratios: Vec<_> = ratios.collect();
        let are_precise = ratios.iter().all(|&(metric, ratio)| {
            let Some(([_, high], verdict)) = ratio.decided else { return false };
            verdict != Verdict::Unclear
                && high / ratio.value <= self.largest_reach(metric, ratio.value)
        });
        let workloads = 0..self.plan().workloads.len();
        !ratios.is_empty()
            && are_precise
            && workloads
                .filter(|&workload| is_measured(workload))
                .all(|workload| self.has_percentiles(shape, workload, network))
    }

    /// Returns how far an interval may reach above its ratio, as a factor, to be precise enough.
    fn largest_reach(&self, metric: Metric, ratio: f64) -> f64 {
        let plan = self.plan();
        let precision = match plan.blocks {
            BlockPolicy::GroupSequential { precision, .. } => precision,
            _ => None,
        };
        let precision = precision.unwrap_or(margin(plan, metric) / 2.0);
        1.0 + precision.max(SHARE_OF_DIFFERENCE * (ratio - 1.0).abs())
    }

    /// Returns true if the percentiles of a network and of the baseline, up to the 99th, have enough samples: in each
    /// block, or in as many pools of blocks as a run has blocks at least.
    fn has_percentiles(&self, shape: usize, workload: usize, network: usize) -> bool {
        let at_least = match self.plan().blocks {
            BlockPolicy::GroupSequential { at_least, .. } => u64::from(at_least),
            _ => 0,
        };
        let percentiles = self.plan().workloads[workload].metrics.iter().filter(|metric| {
            matches!(metric.latency(), Some((_, LatencyStatistic::Quantile(share))) if share <= LAST_PERCENTILE)
        });
        let networks: Vec<usize> = std::iter::once(network).chain(self.baseline()).collect();
        percentiles.copied().all(|metric| {
            networks.iter().all(|&network| {
                let estimates = self.main_estimates(shape, workload, network);
                let beyond = estimates.iter().filter_map(|(_, estimate)| {
                    match estimate.figures.get(&metric) {
                        Some(MetricFigure::Withheld { beyond }) => Some(*beyond),
                        _ => None,
                    }
                });
                let Some(fewest) = beyond.min() else { return true };
                let pool = MIN_SAMPLES_BEYOND.div_ceil(fewest.max(1));
                estimates.len() as u64 / pool >= at_least
            })
        })
    }
}
