//! Decision of an interim analysis: the networks that need no more blocks.
//!
//! A network is decided in a shape when all its ratios that determine the number of blocks have a verdict and are
//! precise enough, and its percentiles have enough samples. A network that is ablated and its variants are decided
//! together, because they are compared with one another. The intervals hold over all analyses, whatever is decided by
//! them.

use crate::compare::analysis_history::AnalysisHistory;
use crate::compare::cell_draft::margin;
use crate::compare::interim::{InterimCell, InterimComparison, InterimRatio};
use crate::estimate::metric_figure::MetricFigure;
use std::collections::BTreeMap;
use tare_record::{
    BlockPolicy, DecidedNetwork, InterimAnalysis, LatencyStatistic, Metric, Plan, RemainingPlan,
    Verdict,
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
                let suffice = |&one: &usize| {
                    plan.networks[one].label != plan.baseline
                        && self.suffices(one, shape, &cells, standing)
                };
                let is_measured = |one: &usize| standing.has_turn(*one, shape);
                if is_measured(&network)
                    && ablated_together(plan, network)
                        .iter()
                        .filter(|one| is_measured(one))
                        .all(suffice)
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
        let are_decided =
            ratios.iter().all(|(metric, ratio)| self.is_ratio_decided(*metric, ratio));
        let workloads = 0..self.plan().workloads.len();
        !ratios.is_empty()
            && are_decided
            && workloads
                .filter(|&workload| is_measured(workload))
                .all(|workload| self.has_percentiles(shape, workload, network))
    }

    /// Returns true if a ratio has a verdict and is precise enough. Without a requested precision, an interval within the
    /// margin is; one beyond it if it reaches half a margin or a tenth of the difference above the ratio.
    fn is_ratio_decided(&self, metric: Metric, ratio: &InterimRatio) -> bool {
        let Some(([_, high], verdict)) = ratio.decided else { return false };
        let plan = self.plan();
        let precision = match plan.blocks {
            BlockPolicy::GroupSequential { precision, .. } => precision,
            _ => None,
        };
        let of_difference = SHARE_OF_DIFFERENCE * (ratio.value - 1.0).abs();
        let reach = high / ratio.value - 1.0;
        match (verdict, precision) {
            (Verdict::Unclear, _) => false,
            (_, Some(precision)) => reach <= precision,
            (Verdict::Faster | Verdict::Slower, None) => {
                reach <= (margin(plan, metric) / 2.0).max(of_difference)
            }
            (Verdict::Same | Verdict::FasterSlightly | Verdict::SlowerSlightly, None) => true,
        }
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
                        Some(MetricFigure::Withheld { beyond, needed }) => Some((*beyond, *needed)),
                        _ => None,
                    }
                });
                let Some((fewest, needed)) = beyond.min() else { return true };
                let pool = needed.div_ceil(fewest.max(1));
                estimates.len() as u64 / pool >= at_least
            })
        })
    }
}

/// Returns the networks that are decided together with this one, itself included: a network and its variants.
fn ablated_together(plan: &Plan, network: usize) -> Vec<usize> {
    let label = &plan.networks[network].label;
    let Some(ablation) = plan.ablations.iter().find(|ablation| ablation.includes(label)) else {
        return vec![network];
    };
    let all = 0..plan.networks.len();
    all.filter(|&other| ablation.includes(&plan.networks[other].label)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, transactions, trial, workload};
    use tare_record::{Ablation, AblationFactor, AblationVariant};

    /// Returns a plan of three networks with interim analyses.
    fn planned(metrics: &[Metric], precision: Option<f64>) -> Plan {
        let workload = workload("tcp-stream", metrics);
        let blocks =
            BlockPolicy::GroupSequential { precision, pilot: 3, at_least: 5, at_most: 100 };
        Plan { blocks, ..plan(&["host", "veth", "bridge"], vec![workload]) }
    }

    /// Returns the labels that an analysis of eight blocks at half of the information decides. `veth` is like `host`, and
    /// its ratios deviate by this much to either side in turn; `bridge` carries three quarters, and deviates by half.
    fn decided(plan: &Plan, deviation: f64) -> Vec<String> {
        let mut interim = InterimComparison::new(plan.clone());
        for block in 0..8 {
            let off = if block % 2 == 0 { deviation } else { -deviation };
            let levels = [("host", 1.0), ("veth", 1.0 + off), ("bridge", 0.75 * (1.0 + off / 2.0))];
            for (label, level) in levels {
                interim.add(&trial(label, block, &[(level * 1e6) as u64; 10])).unwrap();
            }
        }
        let standing = RemainingPlan::after_failures(plan, &[]);
        let analysis = interim.analyse(8, 0.5, &standing);
        assert_eq!((analysis.blocks, analysis.information), (8, 0.5));
        analysis.decided.into_iter().map(|one| one.network).collect()
    }

    #[test]
    fn a_network_is_decided_by_its_verdict_and_precision() {
        let plan = planned(&[Metric::Throughput], None);
        assert_eq!(decided(&plan, 0.001), ["veth", "bridge"]);
        // An interval of ± 2.3 % is wider than the margin of 2 %; one of ± 1.5 % is narrower than a tenth of the
        // difference, and wider than half a margin.
        assert_eq!(decided(&plan, 0.018), ["bridge"]);
        assert!(decided(&plan, 0.1).is_empty());
        let precise = planned(&[Metric::Throughput], Some(0.005));
        assert_eq!(decided(&precise, 0.001), ["veth", "bridge"]);
        assert!(decided(&precise, 0.018).is_empty());
    }

    #[test]
    fn a_network_is_decided_together_with_its_variants() {
        let ablated = |label: &str, variant: &str| {
            let variant =
                AblationVariant { factor: AblationFactor::Tso, label: variant.to_owned() };
            let ablations = vec![Ablation { label: label.to_owned(), variants: vec![variant] }];
            Plan { ablations, ..planned(&[Metric::Throughput], None) }
        };
        assert_eq!(decided(&ablated("bridge", "veth"), 0.001), ["veth", "bridge"]);
        assert!(decided(&ablated("bridge", "veth"), 0.018).is_empty(), "veth is not decided");
        assert_eq!(decided(&ablated("host", "veth"), 0.001), ["bridge"], "the baseline stays");
    }

    #[test]
    fn what_has_left_is_not_decided_again() {
        let plan = planned(&[Metric::Throughput], None);
        let mut interim = InterimComparison::new(plan.clone());
        for block in 0..8 {
            for (label, bytes) in [("host", 1_000), ("veth", 1_000), ("bridge", 750)] {
                interim.add(&trial(label, block, &[bytes; 10])).unwrap();
            }
        }
        let mut standing = RemainingPlan::after_failures(&plan, &[]);
        let analysis = interim.analyse(8, 0.5, &standing);
        assert_eq!(analysis.decided.len(), 2);
        standing.remove_decided(&plan, &analysis);
        interim.add_analysis(analysis);
        assert!(interim.is_decided(1, 0) && !interim.is_decided(0, 0));
        assert!(interim.analyse(9, 0.6, &standing).decided.is_empty());
    }

    #[test]
    fn a_percentile_needs_as_many_pools_as_a_run_has_blocks() {
        let mut plan = planned(&[Metric::LatencyP50, Metric::LatencyP99], None);
        plan.workloads[0].name = "tcp-rr".to_owned();
        let standing = RemainingPlan::after_failures(&plan, &[]);
        let decided = |per_block: usize, blocks: u32| {
            let mut interim = InterimComparison::new(plan.clone());
            for block in 0..blocks {
                for label in ["host", "veth", "bridge"] {
                    let trial = transactions(label, block, &vec![vec![5_000; per_block / 10]; 10]);
                    interim.add(&trial).unwrap();
                }
            }
            interim.analyse(blocks, 0.5, &standing).decided.len()
        };
        assert_eq!(decided(20_000, 8), 2);
        assert_eq!(decided(6_000, 8), 0, "four pools of two blocks");
        assert_eq!(decided(6_000, 10), 2);
    }
}
