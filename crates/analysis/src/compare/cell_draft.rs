//! Cells of one comparison (a metric of a workload in a shape), one for each network, before the correction of their
//! p-values.

use crate::compare::analysed_ratio::{AnalysedRatio, PairedFigures};
use crate::compare::analysis_history::{AnalysisHistory, ComparedPair};
use crate::compare::best_networks::best_networks;
use crate::compare::block_pairs::plain_pairs;
use crate::compare::ratio_family::{RatioPValues, family_name};
use crate::compare::verdict::verdict;
use crate::count::count;
use crate::estimate::trial_group::{GroupSamples, TrialGroup};
use tare_record::{
    Cell, ComparedBy, Difference, Metric, NetworkEntry, Parameters, Plan, Ratio, Shape, Verdict,
    WithheldReason, WorkloadPlan,
};
use tare_stats::bootstrap::bca;
use tare_stats::describe::{mean, mean_interval, median};
use tare_stats::{PairedRatio, sample_size};

/// Cell whose ratio still waits for the correction over its family.
pub(crate) struct CellDraft {
    pub(crate) cell: Cell,
    pub(crate) comparison: Option<PendingRatio>,
}

/// Ratio that has no verdict yet.
pub(crate) struct PendingRatio {
    pub(crate) family: String,
    pub(crate) ratio: PairedRatio,
    pub(crate) p_values: RatioPValues,
    /// Ratio of the blocks' plain means, if `ratio` is made of rounds.
    plain: Option<f64>,
    baseline: String,
    margin: f64,
}

/// Context that the networks of one comparison have in common.
pub(crate) struct ComparisonContext<'a> {
    /// Plan of the run.
    pub(crate) plan: &'a Plan,
    /// Name of the workload in the cells.
    pub(crate) workload: &'a str,
    /// Shape of the comparison, one of the plan's.
    pub(crate) shape: &'a Shape,
    pub(crate) metric: Metric,
    /// Name of the family of the ratios.
    pub(crate) family: String,
    /// Label of the baseline of the ratios.
    pub(crate) baseline: &'a str,
    /// Interim analyses of the run.
    pub(crate) history: AnalysisHistory<'a>,
}

impl ComparisonContext<'_> {
    /// Returns a draft for each of these networks of the plan, made from its figures alone.
    pub(crate) fn draft_cells(
        &self,
        networks: &[usize],
        sampled: &[GroupSamples],
    ) -> Vec<CellDraft> {
        let entries: Vec<&NetworkEntry> =
            networks.iter().map(|&network| &self.plan.networks[network]).collect();
        let beside = entries.iter().position(|entry| entry.label == self.baseline);
        let best = best_networks(sampled, self.metric);
        let mut drafts = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let mut cell = self.uncompared_cell(entry, &sampled[index]);
            cell.best = best[index];
            let beside = beside.filter(|beside| *beside != index);
            let Some(beside) = beside else {
                drafts.push(CellDraft { cell, comparison: None });
                continue;
            };
            let (network, beside) = (&sampled[index], &sampled[beside]);
            let figures = PairedFigures::from_samples(network, beside);
            let plain = plain_pairs(network, beside);
            let plain = plain.and_then(|pairs| Some(PairedRatio::from_pairs(&pairs)?.value));
            drafts.push(self.compare_with_baseline(cell, &figures, plain));
        }
        drafts
    }

    /// Completes a cell with its comparison to the baseline.
    fn compare_with_baseline(
        &self,
        mut cell: Cell,
        figures: &PairedFigures,
        plain: Option<f64>,
    ) -> CellDraft {
        let (plan, metric) = (self.plan, self.metric);
        if metric.compared_by() == ComparedBy::Difference {
            cell.difference = mean_difference(figures.pairs(), self.baseline);
            return CellDraft { cell, comparison: None };
        }
        let pair =
            ComparedPair { network: &cell.label, baseline: self.baseline, shape: self.shape };
        let analysed = figures.analyse(plan, pair, self.history);
        let comparison = analysed.map(|AnalysedRatio { ratio, p_values }| PendingRatio {
            family: self.family.clone(),
            ratio,
            p_values,
            plain,
            baseline: self.baseline.to_owned(),
            margin: margin(plan, metric),
        });
        CellDraft { cell, comparison }
    }

    /// Returns the cell of a network's figures.
    fn uncompared_cell(&self, entry: &NetworkEntry, sampled: &GroupSamples) -> Cell {
        let samples = sampled.samples();
        let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        let uncut: Vec<f64> = samples.iter().map(|sample| sample.uncut).collect();
        Cell {
            network: entry.network.clone(),
            workload: self.workload.to_owned(),
            label: entry.label.clone(),
            scope: "aggregate".to_owned(),
            shape: self.shape.clone(),
            parameters: Parameters::new(),
            hops: Vec::new(),
            findings: Vec::new(),
            metric: self.metric,
            unit: self.metric.unit().to_owned(),
            better: self.metric.better(),
            blocks: samples.iter().map(|sample| sample.block).collect(),
            n: count(samples.len()),
            mean: mean(&values),
            median: median(&values),
            median_ci95: bca(&values, median, 0.95),
            ci95: mean_interval(&values, 0.95),
            uncut_mean: mean(&uncut),
            ratio: None,
            difference: None,
            withheld: withheld_reason(self.metric, sampled),
            best: false,
            samples: values,
        }
    }
}

/// Returns the context of the comparison of a metric that a group belongs to.
pub(crate) fn comparison_context<'a>(
    plan: &'a Plan,
    group: &TrialGroup<'_>,
    metric: Metric,
    baseline: &'a str,
    history: AnalysisHistory<'a>,
) -> ComparisonContext<'a> {
    let shape = &plan.shapes[group.shape];
    let variant = WorkloadPlan::distinct_name(&plan.workloads, group.workload);
    let family = family_name(plan, &variant, shape, metric);
    let workload = &plan.workloads[group.workload].name;
    ComparisonContext { plan, workload, shape, metric, family, baseline, history }
}

/// Returns the equivalence margin of a metric.
pub(crate) fn margin(plan: &Plan, metric: Metric) -> f64 {
    plan.margins.get(&metric).copied().unwrap_or_else(|| metric.default_margin())
}

/// Returns the mean of the blocks' differences, with its interval. Returns `None` if fewer than two blocks have both
/// figures.
pub(crate) fn mean_difference(pairs: &[(f64, f64)], baseline: &str) -> Option<Difference> {
    let differences: Vec<f64> = pairs.iter().map(|(network, beside)| network - beside).collect();
    Some(Difference {
        baseline: baseline.to_owned(),
        value: mean(&differences)?,
        ci95: mean_interval(&differences, 0.95)?,
    })
}

/// Returns the cell of a network's figures of one metric, without a comparison; the scope is the aggregate unless the
/// caller changes it.
pub(crate) fn uncompared_cell(
    plan: &Plan,
    group: &TrialGroup<'_>,
    metric: Metric,
    sampled: &GroupSamples,
) -> Cell {
    let compared = comparison_context(plan, group, metric, "", AnalysisHistory::at_end(&[]));
    compared.uncompared_cell(&plan.networks[group.network], sampled)
}

/// Returns the reason why there is no figure. Returns `None` if there are figures.
fn withheld_reason(metric: Metric, sampled: &GroupSamples) -> Option<WithheldReason> {
    let reason = match sampled {
        GroupSamples::Withheld { beyond, needed } => format!(
            "a trial has only {beyond} {} beyond {metric}, and {needed} are needed; use a longer --duration",
            if *beyond == 1 { "sample" } else { "samples" },
        ),
        GroupSamples::NoInterval => {
            "no trial has a complete interval: use a longer --duration".to_owned()
        }
        GroupSamples::Figures(samples) if samples.is_empty() => {
            format!("no trial recorded a value of {metric}")
        }
        GroupSamples::Figures(_) => return None,
    };
    Some(WithheldReason { reason })
}

impl CellDraft {
    /// Returns the cell with its verdict, now that its p-value is corrected for its family.
    pub(crate) fn finish(self, p_adjusted: Option<f64>) -> Cell {
        let mut cell = self.cell;
        cell.ratio = self.comparison.zip(p_adjusted).map(|(comparison, p_adjusted)| {
            let PendingRatio { family, ratio, plain, baseline, margin, .. } = comparison;
            let verdict = verdict(&ratio, margin, p_adjusted, cell.better);
            Ratio {
                baseline,
                value: ratio.value,
                plain,
                ci90: ratio.ci90,
                ci95: ratio.ci95,
                p: ratio.p,
                p_adjusted,
                family,
                margin,
                verdict,
                detectable: ratio.detectable(),
                blocks_to_decide: (verdict == Verdict::Unclear)
                    .then(|| blocks_to_decide(&ratio, margin)),
                pairs: ratio.n,
            }
        });
        cell
    }
}

/// Returns about how many blocks would decide: more than there are, in any case.
fn blocks_to_decide(ratio: &PairedRatio, margin: f64) -> u32 {
    sample_size::blocks_to_decide(ratio.value, ratio.sd_log, margin).max(ratio.n.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::trial_group::group_trials;
    use crate::test_data::{plan, trial, workload};
    use tare_record::Series;

    #[test]
    fn a_missing_figure_has_its_reason() {
        let metrics = [Metric::Throughput, Metric::OneWayP50];
        let plan = plan(&["host"], vec![workload("tcp-stream", &metrics)]);
        let reason = |bytes: &[u64], metric| {
            let trials = [trial("host", 0, bytes), trial("host", 1, &[])];
            let groups = group_trials(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
            let sampled = groups[0].samples_of_metric(metric);
            withheld_reason(metric, &sampled).map(|withheld| withheld.reason)
        };
        let too_short = "no trial has a complete interval: use a longer --duration";
        assert_eq!(reason(&[], Metric::Throughput).as_deref(), Some(too_short));
        assert_eq!(reason(&[], Metric::OneWayP50).as_deref(), Some(too_short));
        let unrecorded = "no trial recorded a value of one_way_p50";
        assert_eq!(reason(&[8; 10], Metric::OneWayP50).as_deref(), Some(unrecorded));
        assert_eq!(reason(&[8; 10], Metric::Throughput), None);
    }

    #[test]
    fn one_client_without_intervals_leaves_all_clients_without() {
        let plan = plan(&["host"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let mut both = trial("host", 0, &[8; 10]);
        both.series.push(Series { intervals: Vec::new(), ..both.series[0].clone() });
        let groups = group_trials(&plan, &[&both]).unwrap();
        let sampled = groups[0].samples_of_metric(Metric::Throughput);
        let reason = withheld_reason(Metric::Throughput, &sampled).unwrap().reason;
        assert!(reason.starts_with("no trial has a complete interval"), "{reason}");
    }

    #[test]
    fn what_is_unclear_takes_more_blocks_than_there_are() {
        let pairs = [(1.0, 1.0), (1.05, 1.0), (0.98, 1.0), (1.04, 1.0)];
        let ratio = PairedRatio::from_pairs(&pairs).unwrap();
        assert!(blocks_to_decide(&ratio, 0.02) > 4);
        let certain = PairedRatio::from_pairs(&[(2.0, 1.0), (2.01, 1.0), (2.02, 1.0)]).unwrap();
        assert_eq!(blocks_to_decide(&certain, 0.02), 4);
    }
}
