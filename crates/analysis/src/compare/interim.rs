//! Comparison of the networks from the trials so far, for display during a run and for its interim analyses.
//!
//! The figures, ratios and verdicts are those that the document of a run would have if it ended now; only the
//! bootstrap, the clients and the findings are left out, which take long and are not displayed. A trial is estimated
//! once, when it is added, and then forgotten: percentiles over pools of blocks, which need all histograms of a run,
//! are withheld here, and missing in families that go beyond one metric.

use crate::Error;
use crate::compare::analysed_ratio::{AnalysedRatio, PairedFigures};
use crate::compare::analysis_history::{AnalysisHistory, ComparedPair};
use crate::compare::block_pairs::pair_by_block;
use crate::compare::cell_draft::{margin, mean_difference};
use crate::compare::ratio_family::{adjust_by_family, family_name};
use crate::compare::verdict::verdict;
use crate::estimate::metric_figure::MetricFigure;
use crate::estimate::trial_group::{GroupSamples, collect_samples};
use crate::estimate::{TrialEstimate, estimate};
use std::collections::{BTreeMap, BTreeSet};
use tare_record::{
    ComparedBy, Difference, InterimAnalysis, Metric, Phase, Plan, Trial, Verdict, WorkloadPlan,
};
use tare_stats::PairedRatio;
use tare_stats::describe::{mean, mean_interval};

/// Indices of a shape and a workload in the plan, and a metric.
pub(super) type Comparison = (usize, usize, Metric);

/// Estimate of one trial, with its block.
pub(super) type BlockEstimate = (u32, TrialEstimate);

/// Comparison of a plan's networks, from the trials so far.
#[derive(Clone, Debug)]
pub struct InterimComparison {
    plan: Plan,
    /// Estimates of the trials by phase, shape, workload and network.
    estimates: BTreeMap<(Phase, usize, usize, usize), Vec<BlockEstimate>>,
    analyses: Vec<InterimAnalysis>,
}

/// Figures of a network for one metric of one workload in one shape, from the trials so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterimCell {
    /// Mean of the blocks' figures, in the metric's unit. `None` without figures.
    pub mean: Option<f64>,
    /// 95 % confidence interval of the mean. `None` for fewer than two blocks.
    pub ci95: Option<[f64; 2]>,
    /// Ratio to the baseline. `None` for the baseline itself, and where a ratio has no meaning.
    pub ratio: Option<InterimRatio>,
    /// Difference from the baseline, for metrics without a meaningful ratio.
    pub difference: Option<Difference>,
}

/// Ratio of a network to the baseline, from the blocks so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimRatio {
    /// Geometric mean of the blocks' ratios.
    pub value: f64,
    /// 95 % confidence interval, with the verdict that it has so far. `None` for one block.
    pub decided: Option<([f64; 2], Verdict)>,
}

impl InterimComparison {
    /// Creates the comparison of a plan without any trial.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self { plan, estimates: BTreeMap::new(), analyses: Vec::new() }
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Adds a trial, and returns its figures. Returns `None` if the plan does not have such a trial.
    ///
    /// # Errors
    /// Returns an error if the trial's histograms cannot be added up.
    pub fn add(&mut self, trial: &Trial) -> Result<Option<&BTreeMap<Metric, MetricFigure>>, Error> {
        let Some((shape, workload, network)) = self.plan.locate_trial(trial) else {
            return Ok(None);
        };
        let estimated = estimate(trial, &self.plan.workloads[workload])?;
        let group = self.estimates.entry((trial.phase, shape, workload, network)).or_default();
        // Clients are not displayed.
        group.push((trial.block, TrialEstimate { clients: None, ..estimated }));
        Ok(group.last().map(|(_, estimate)| &estimate.figures))
    }

    /// Returns true if an interim analysis decided a network in a shape, each by its index in the plan.
    #[must_use]
    pub fn is_decided(&self, network: usize, shape: usize) -> bool {
        let (label, shape) = (&self.plan.networks[network].label, &self.plan.shapes[shape]);
        self.analyses.iter().any(|analysis| analysis.decides(label, shape))
    }

    /// Returns the interim analyses so far.
    #[must_use]
    pub fn analyses(&self) -> &[InterimAnalysis] {
        &self.analyses
    }

    /// Adds an interim analysis of the run.
    pub fn add_analysis(&mut self, analysis: InterimAnalysis) {
        self.analyses.push(analysis);
    }

    /// Returns the cells of one metric of one workload in one shape, one for each network of the plan. Until the main
    /// phase has a trial of the comparison, they are the pilot's, which are no part of the result.
    #[must_use]
    pub fn cells(&self, shape: usize, workload: usize, metric: Metric) -> Vec<InterimCell> {
        self.cells_by((shape, workload, metric), AnalysisHistory::at_end(&self.analyses))
    }

    /// Returns the cells of a comparison, with verdicts that hold over these analyses.
    pub(super) fn cells_by(
        &self,
        asked: Comparison,
        history: AnalysisHistory<'_>,
    ) -> Vec<InterimCell> {
        let (.., metric) = asked;
        let samples = self.samples(asked);
        let ratios = self.corrected_ratios(asked, history);
        let compared = samples.iter().enumerate().map(|(network, sampled)| {
            let pairs = self.pairs(&samples, network);
            let decided = ratios.get(&network).map(|(ratio, p_adjusted)| {
                let margin = margin(&self.plan, metric);
                (ratio.ci95, verdict(ratio, margin, *p_adjusted, metric.better()))
            });
            self.cell(metric, sampled, &pairs, decided)
        });
        compared.collect()
    }

    fn cell(
        &self,
        metric: Metric,
        sampled: &GroupSamples,
        pairs: &[(f64, f64)],
        decided: Option<([f64; 2], Verdict)>,
    ) -> InterimCell {
        let values: Vec<f64> = sampled.samples().iter().map(|sample| sample.value).collect();
        let mut cell = InterimCell {
            mean: mean(&values),
            ci95: mean_interval(&values, 0.95),
            ..InterimCell::default()
        };
        match metric.compared_by() {
            ComparedBy::Difference => {
                cell.difference = mean_difference(pairs, &self.plan.baseline);
            }
            ComparedBy::Ratio => {
                cell.ratio = geometric_mean(pairs).map(|value| InterimRatio { value, decided });
            }
        }
        cell
    }

    /// Returns the ratio of each network that has one, and its corrected p-value. Only the ratios of the same family are
    /// computed.
    fn corrected_ratios(
        &self,
        asked: Comparison,
        history: AnalysisHistory<'_>,
    ) -> BTreeMap<usize, (PairedRatio, f64)> {
        let family = self.family(asked);
        let mut members = Vec::new();
        for compared in self.comparisons() {
            if self.family(compared) == family {
                let ratios = self.ratios(compared, history);
                members.extend(ratios.map(|(network, ratio)| (compared, network, ratio)));
            }
        }
        let p_values = members.iter().map(|(.., analysed)| (family.as_str(), &analysed.p_values));
        let adjusted = adjust_by_family(p_values);
        let ours = members.iter().zip(adjusted).filter(|((compared, ..), _)| *compared == asked);
        ours.map(|((_, network, analysed), p)| (*network, (analysed.ratio, p))).collect()
    }

    /// Returns the comparisons by ratio of all groups that have trials, each once.
    fn comparisons(&self) -> BTreeSet<Comparison> {
        let groups = self.estimates.keys().map(|&(_, shape, workload, _)| (shape, workload));
        let by_ratio = |metric: &Metric| metric.compared_by() == ComparedBy::Ratio;
        let metrics = |(shape, workload): (usize, usize)| {
            let metrics = self.plan.workloads[workload].metrics.iter().copied().filter(by_ratio);
            metrics.map(move |metric| (shape, workload, metric))
        };
        groups.flat_map(metrics).collect()
    }

    fn family(&self, (shape, workload, metric): Comparison) -> String {
        let name = WorkloadPlan::distinct_name(&self.plan.workloads, workload);
        family_name(&self.plan, &name, &self.plan.shapes[shape], metric)
    }

    /// Returns the ratio of each network to the baseline, where there is one.
    fn ratios<'s>(
        &'s self,
        compared: Comparison,
        history: AnalysisHistory<'s>,
    ) -> impl Iterator<Item = (usize, AnalysedRatio)> + 's {
        let samples = self.samples(compared);
        let shape = &self.plan.shapes[compared.0];
        (0..samples.len()).filter_map(move |network| {
            let baseline = self.baseline().filter(|&baseline| baseline != network)?;
            let figures = PairedFigures::from_samples(&samples[network], &samples[baseline]);
            let pair = ComparedPair {
                network: &self.plan.networks[network].label,
                baseline: &self.plan.baseline,
                shape,
            };
            Some((network, figures.analyse(&self.plan, pair, history)?))
        })
    }

    /// Returns the estimates of a network's trials in the main phase, in the order in which they were added.
    pub(super) fn main_estimates(
        &self,
        shape: usize,
        workload: usize,
        network: usize,
    ) -> &[BlockEstimate] {
        let group = self.estimates.get(&(Phase::Main, shape, workload, network));
        group.map_or(&[], Vec::as_slice)
    }

    /// Returns the index of the baseline.
    pub(super) fn baseline(&self) -> Option<usize> {
        self.plan.networks.iter().position(|entry| entry.label == self.plan.baseline)
    }

    /// Returns the pairs of a network's figures and the baseline's. The baseline itself has none.
    fn pairs(&self, samples: &[GroupSamples], network: usize) -> Vec<(f64, f64)> {
        match self.baseline().filter(|&baseline| baseline != network) {
            Some(baseline) => pair_by_block(&samples[network], &samples[baseline]),
            None => Vec::new(),
        }
    }

    /// Returns the figures of every network.
    fn samples(&self, (shape, workload, metric): Comparison) -> Vec<GroupSamples> {
        let group = |phase, network| self.estimates.get(&(phase, shape, workload, network));
        let networks = 0..self.plan.networks.len();
        let in_main = networks.clone().any(|network| group(Phase::Main, network).is_some());
        let phase = if in_main { Phase::Main } else { Phase::Pilot };
        let sampled = |network| {
            let trials = group(phase, network).into_iter().flatten();
            collect_samples(trials.map(|(block, estimate)| {
                (*block, estimate.figures.get(&metric).copied(), estimate.rounds_of(metric))
            }))
        };
        networks.map(sampled).collect()
    }
}

/// Returns the geometric mean of the pairs' ratios. Returns `None` without pairs, or if a figure is 0.
fn geometric_mean(pairs: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<f64> = pairs.iter().map(|(network, beside)| (network / beside).ln()).collect();
    mean(&logs).filter(|log| log.is_finite()).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{SeededRandom, journal, plan, trial, workload};
    use tare_record::journal::Record;
    use tare_record::{
        BlockPolicy, CorrectionFamily, DecidedNetwork, Document, Nanos, SlicePlan, TrialSlices,
    };

    const NETWORKS: [&str; 3] = ["host", "veth", "bridge"];

    /// Returns the trials of this many blocks: `veth` is like `host`, `bridge` carries three quarters.
    fn trials(blocks: u32) -> Vec<Trial> {
        let mut chance = SeededRandom::seeded(11);
        let mut trials = Vec::new();
        for block in 0..blocks {
            for (label, level) in NETWORKS.into_iter().zip([1e6, 1e6, 0.75e6]) {
                let bytes = (level * (0.004 * chance.normal()).exp()) as u64;
                trials.push(trial(label, block, &[bytes; 10]));
            }
        }
        trials
    }

    fn throughput_plan() -> Plan {
        plan(&NETWORKS, vec![workload("tcp-stream", &[Metric::Throughput, Metric::CpuPerGb])])
    }

    fn comparison(plan: &Plan, trials: &[Trial]) -> InterimComparison {
        let mut interim = InterimComparison::new(plan.clone());
        for trial in trials {
            interim.add(trial).unwrap();
        }
        interim
    }

    /// Fails unless the cells are those of the document of the same trials.
    fn assert_like_document(interim: &InterimComparison, document: &Document) {
        for (network, cell) in interim.cells(0, 0, Metric::Throughput).into_iter().enumerate() {
            let label = NETWORKS[network];
            let is_same = |cell: &&tare_record::Cell| {
                cell.label == label && cell.metric == Metric::Throughput
            };
            let expected = document.cells.iter().find(is_same).unwrap();
            assert_eq!((cell.mean, cell.ci95), (expected.mean, expected.ci95));
            let decided = cell.ratio.and_then(|ratio| ratio.decided);
            let expected = expected.ratio.as_ref();
            assert_eq!(decided, expected.map(|ratio| (ratio.ci95, ratio.verdict)), "{label}");
        }
    }

    #[test]
    fn cells_are_those_of_the_document_after_every_block() {
        use CorrectionFamily::{Metric, Study, Workload};
        let sequence = BlockPolicy::Sequence { precision: None, at_least: 2, at_most: 20 };
        for (family, policy) in [
            (Metric, BlockPolicy::Fixed { blocks: 9 }),
            (Workload, BlockPolicy::Fixed { blocks: 9 }),
            (Study, BlockPolicy::Fixed { blocks: 9 }),
            (Metric, sequence),
        ] {
            for blocks in 1..9 {
                let plan = Plan { family, blocks: policy, ..throughput_plan() };
                let trials = trials(blocks);
                let interim = comparison(&plan, &trials);
                let document = crate::document(&journal(plan, trials), None).unwrap();
                assert_like_document(&interim, &document);
            }
        }
    }

    #[test]
    fn cells_are_those_of_the_document_after_interim_analyses() {
        let policy =
            BlockPolicy::GroupSequential { precision: None, pilot: 2, at_least: 2, at_most: 20 };
        let plan = Plan { blocks: policy, ..throughput_plan() };
        let shape = plan.shapes[0].clone();
        let analysis = |blocks, information, decided: &[&str]| InterimAnalysis {
            blocks,
            information,
            decided: decided
                .iter()
                .map(|label| DecidedNetwork { network: (*label).to_owned(), shape: shape.clone() })
                .collect(),
        };
        let analyses = [analysis(3, 0.4, &[]), analysis(5, 0.6, &["bridge"])];
        let mut all = trials(8);
        all.retain(|trial| trial.label != "bridge" || trial.block < 5);
        let mut interim = comparison(&plan, &all);
        let mut journal = journal(plan, all);
        let without = crate::document(&journal, None).unwrap();
        for analysis in analyses {
            interim.add_analysis(analysis.clone());
            journal.records.push(Record::InterimAnalysis(analysis));
        }
        let document = crate::document(&journal, None).unwrap();
        assert_like_document(&interim, &document);
        assert!(interim.is_decided(2, 0) && !interim.is_decided(1, 0));
        assert_eq!((document.blocks, document.interim_analyses.len()), (8, 2));
        // The intervals pay for the analyses: a little at the end, more at the one that decided.
        let width = |document: &Document, label: &str| {
            let cell = document.cells.iter().find(|cell| cell.label == label).unwrap();
            let ratio = cell.ratio.as_ref().unwrap();
            (ratio.ci95[1] - ratio.ci95[0]) / ratio.value
        };
        let wider = |label| width(&document, label) / width(&without, label);
        assert!((1.0..1.1).contains(&wider("veth")), "{}", wider("veth"));
        assert!((1.1..3.0).contains(&wider("bridge")), "{}", wider("bridge"));
    }

    #[test]
    fn woven_networks_are_compared_by_their_rounds() {
        let mut woven = trials(4);
        for (nth, trial) in (0..).zip(&mut woven) {
            let intervals = &mut trial.series[0].intervals;
            let (length, rounds) = (intervals[0].length, intervals.len() as u32);
            // A disturbed round, which moves the mean of a block and not the ratio of its rounds.
            intervals[nth % 10].bytes /= 10;
            let began = intervals.iter().map(|interval| interval.start).collect();
            let plan = SlicePlan { rounds, warm_up: 0, length, skip: Nanos(0) };
            trial.slices = Some(TrialSlices { plan, began });
        }
        let plan = throughput_plan();
        let interim = comparison(&plan, &woven);
        let document = crate::document(&journal(plan, woven), None).unwrap();
        assert_like_document(&interim, &document);
        let ratio = interim.cells(0, 0, Metric::Throughput)[2].ratio.unwrap();
        assert!((ratio.value - 0.75).abs() < 0.01, "{ratio:?}");
        let (interval, _) = ratio.decided.unwrap();
        assert!(interval[0] <= ratio.value && ratio.value <= interval[1], "{ratio:?}");
    }

    #[test]
    fn one_block_has_a_ratio_and_no_verdict() {
        let interim = comparison(&throughput_plan(), &trials(1));
        let cells = interim.cells(0, 0, Metric::Throughput);
        let ratio = cells[2].ratio.unwrap();
        assert!((ratio.value - 0.75).abs() < 0.02 && ratio.decided.is_none(), "{ratio:?}");
        assert_eq!(cells[0].ratio, None);
    }

    #[test]
    fn the_pilot_is_shown_until_the_main_phase_has_a_trial() {
        let mut all = trials(3);
        all.iter_mut().for_each(|trial| trial.phase = Phase::Pilot);
        let mut interim = comparison(&throughput_plan(), &all);
        let ratio = |interim: &InterimComparison| interim.cells(0, 0, Metric::Throughput)[2].ratio;
        assert!(ratio(&interim).unwrap().decided.is_some());
        interim.add(&trials(1)[0]).unwrap();
        assert_eq!(ratio(&interim), None);
    }

    #[test]
    fn a_metric_that_is_often_zero_has_a_difference() {
        let plan = plan(&NETWORKS, vec![workload("tcp-stream", &[Metric::Retransmits])]);
        let cells = comparison(&plan, &trials(3)).cells(0, 0, Metric::Retransmits);
        assert!(cells.iter().all(|cell| cell.ratio.is_none()));
    }
}
