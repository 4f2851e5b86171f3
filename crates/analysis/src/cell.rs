//! One comparison (a metric of a workload in a shape) as cells, one a network, before the family is looked at.

use crate::ablation;
use crate::best::best;
use crate::drift::drifts;
use crate::family::family;
use crate::findings;
use crate::group::{Group, Sampled};
use crate::pair::in_same_blocks;
use crate::scopes;
use crate::verdict::verdict;
use tare_record::{
    Beside, Blocks, Cell, Difference, Entry, Hop, Metric, Parameters, Plan, Ratio, Shape, Verdict,
    Withheld, WorkloadPlan,
};
use tare_stats::bootstrap::bca;
use tare_stats::describe::{mean, mean_interval, median};
use tare_stats::{PairedRatio, size};

/// A cell whose ratio still waits for the rest of its family.
pub(crate) struct Draft {
    pub(crate) cell: Cell,
    pub(crate) comparison: Option<Comparison>,
}

/// A ratio that has no verdict yet.
pub(crate) struct Comparison {
    pub(crate) family: String,
    pub(crate) ratio: PairedRatio,
    baseline: String,
    margin: f64,
}

/// What the networks of one comparison have in common.
pub(crate) struct Compared<'a> {
    /// The run's plan.
    pub(crate) plan: &'a Plan,
    /// What stands in the cells for a workload.
    pub(crate) workload: &'a str,
    /// Of the plan's.
    pub(crate) shape: &'a Shape,
    pub(crate) metric: Metric,
    /// The family of the ratios.
    pub(crate) family: String,
    /// What the ratios are to.
    pub(crate) baseline: &'a str,
}

impl Compared<'_> {
    /// A draft of each of these networks of the plan, made of its figures alone.
    pub(crate) fn drafts(&self, networks: &[usize], sampled: &[Sampled]) -> Vec<Draft> {
        let entries: Vec<&Entry> =
            networks.iter().map(|&network| &self.plan.networks[network]).collect();
        let beside = entries.iter().position(|entry| entry.label == self.baseline);
        let best = best(sampled, self.metric);
        let mut drafts = Vec::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let mut cell = self.cell(entry, &sampled[index]);
            cell.best = best[index];
            let beside = beside.filter(|beside| *beside != index);
            let pairs = beside.map(|beside| in_same_blocks(&sampled[index], &sampled[beside]));
            drafts.push(self.beside_baseline(cell, &pairs.unwrap_or_default()));
        }
        drafts
    }

    /// A cell with what it is beside the baseline, by pairs of both's figures.
    fn beside_baseline(&self, mut cell: Cell, pairs: &[(f64, f64)]) -> Draft {
        let (plan, metric) = (self.plan, self.metric);
        if metric.beside() == Beside::Difference {
            cell.difference = difference(pairs, self.baseline);
            return Draft { cell, comparison: None };
        }
        let comparison = paired(plan, pairs).map(|ratio| Comparison {
            family: self.family.clone(),
            ratio,
            baseline: self.baseline.to_owned(),
            margin: plan.margins.get(&metric).copied().unwrap_or(metric.default_margin()),
        });
        Draft { cell, comparison }
    }

    /// A network's figures.
    fn cell(&self, entry: &Entry, sampled: &Sampled) -> Cell {
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
            n: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            mean: mean(&values),
            median: median(&values),
            median_ci95: bca(&values, median, 0.95),
            ci95: mean_interval(&values, 0.95),
            uncut_mean: mean(&uncut),
            ratio: None,
            difference: None,
            withheld: withheld(self.metric, sampled),
            best: false,
            samples: values,
        }
    }
}

/// The cells of all metrics of groups that belong to one comparison: over all clients, then those of each client and of
/// fairness.
pub(crate) fn drafts(plan: &Plan, together: &[Group<'_>], baseline: &str) -> Vec<Draft> {
    let workload = &plan.workloads[together[0].workload];
    let parameters = in_force(workload, together);
    let networks: Vec<usize> = together.iter().map(|group| group.network).collect();
    let mut all = Vec::new();
    for &metric in &workload.metrics {
        let sampled: Vec<Sampled> = together.iter().map(|group| group.sampled(metric)).collect();
        // Most machines keep their counters to themselves: there is nothing to tell of them then.
        if metric.of_hardware() && sampled.iter().all(|sampled| sampled.samples().is_empty()) {
            continue;
        }
        let drifts = drifts(&sampled);
        let figures = ablation::Figures::new(plan, together, &sampled);
        let mut drafts = compared(plan, &together[0], metric, baseline).drafts(&networks, &sampled);
        for (index, group) in together.iter().enumerate() {
            let cell = &mut drafts[index].cell;
            cell.hops = hops(group);
            cell.findings = findings::of_cell(&group.trials, metric, &sampled[index]);
            cell.findings.extend(drifts[index].clone());
            cell.findings.extend(ablation::found(&figures, &cell.label, baseline, metric));
        }
        all.extend(drafts);
    }
    all.extend(scopes::drafts(plan, together, baseline));
    all.iter_mut().for_each(|draft| draft.cell.parameters.clone_from(&parameters));
    all
}

/// The comparison of a metric that a group belongs to.
fn compared<'a>(
    plan: &'a Plan,
    group: &Group<'_>,
    metric: Metric,
    baseline: &'a str,
) -> Compared<'a> {
    let shape = &plan.shapes[group.shape];
    let variant = WorkloadPlan::variant(&plan.workloads, group.workload);
    let family = family(plan, &variant, shape, metric);
    let workload = &plan.workloads[group.workload].name;
    Compared { plan, workload, shape, metric, family, baseline }
}

/// A group's path, as its first trial saw it.
fn hops(group: &Group<'_>) -> Vec<Hop> {
    group.trials.first().map(|(trial, _)| trial.hops.clone()).unwrap_or_default()
}

/// The ratio of pairs, by intervals that stand whatever ended the measuring.
fn paired(plan: &Plan, pairs: &[(f64, f64)]) -> Option<PairedRatio> {
    match plan.blocks {
        Blocks::Sequence { .. } => PairedRatio::in_sequence(pairs),
        Blocks::Fixed { .. } | Blocks::Precision { .. } => PairedRatio::of(pairs),
    }
}

/// The mean of the blocks' differences, with its interval; nothing where fewer than two blocks have both.
pub(crate) fn difference(pairs: &[(f64, f64)], baseline: &str) -> Option<Difference> {
    let differences: Vec<f64> = pairs.iter().map(|(network, beside)| network - beside).collect();
    Some(Difference {
        baseline: baseline.to_owned(),
        value: mean(&differences)?,
        ci95: mean_interval(&differences, 0.95)?,
    })
}

/// A network's figures of one metric, with nothing beside them; over all clients unless the caller says otherwise.
pub(crate) fn cell(plan: &Plan, group: &Group<'_>, metric: Metric, sampled: &Sampled) -> Cell {
    let compared = compared(plan, group, metric, "");
    compared.cell(&plan.networks[group.network], sampled)
}

/// Why there is no figure, where there is none.
fn withheld(metric: Metric, sampled: &Sampled) -> Option<Withheld> {
    let reason = match sampled {
        Sampled::Withheld { beyond } => format!(
            "a trial has only {beyond} samples beyond {metric}, and {} are needed; use a longer --duration",
            crate::figures::FEWEST_BEYOND
        ),
        Sampled::Figures(samples) if samples.is_empty() => "no trial recorded any".to_owned(),
        Sampled::Figures(_) => return None,
    };
    Some(Withheld { reason })
}

/// The parameters of a comparison: what was asked, corrected and completed by what was in force in all its trials.
/// What differs between them (a port, a granted buffer) tells no comparison from another.
fn in_force(workload: &WorkloadPlan, together: &[Group<'_>]) -> Parameters {
    let mut parameters = workload.parameters.clone();
    let mut trials = together.iter().flat_map(|group| &group.trials).map(|(trial, _)| trial);
    let Some(first) = trials.next() else {
        return parameters;
    };
    let rest: Vec<_> = trials.collect();
    let agreed = first.parameters.iter().filter(|(name, value)| {
        rest.iter().all(|trial| trial.parameters.get(*name) == Some(*value))
    });
    parameters.extend(agreed.map(|(name, value)| (name.clone(), value.clone())));
    parameters
}

impl Draft {
    /// The cell, now that its p-value is corrected for its family.
    pub(crate) fn finish(self, p_adjusted: Option<f64>) -> Cell {
        let mut cell = self.cell;
        cell.ratio = self.comparison.zip(p_adjusted).map(|(comparison, p_adjusted)| {
            let Comparison { family, ratio, baseline, margin } = comparison;
            let verdict = verdict(&ratio, margin, p_adjusted, cell.better);
            Ratio {
                baseline,
                value: ratio.value,
                ci90: ratio.ci90,
                ci95: ratio.ci95,
                p: ratio.p,
                p_adjusted,
                family,
                margin,
                verdict,
                detectable: ratio.detectable(),
                blocks_to_decide: (verdict == Verdict::Unclear).then(|| to_decide(&ratio, margin)),
                pairs: ratio.n,
            }
        });
        cell
    }
}

/// About how many blocks would decide: more than there are, in any case.
fn to_decide(ratio: &PairedRatio, margin: f64) -> u32 {
    size::blocks_to_decide(ratio.value, ratio.sd_log, margin).max(ratio.n.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::groups;
    use crate::made_up::{plan, trial, workload};

    #[test]
    fn parameters_are_what_was_asked_corrected_by_what_all_trials_had() {
        let mut workload = workload("tcp-stream", &[Metric::Throughput]);
        workload.parameters.insert("congestion".to_owned(), "bbr".into());
        workload.parameters.insert("buffer".to_owned(), 1000.into());
        let plan = plan(&["host", "bridge"], vec![workload.clone()]);
        let mut trials = [trial("host", 0, &[1]), trial("bridge", 0, &[1])];
        for (trial, (port, buffer)) in trials.iter_mut().zip([(5201, 900), (5202, 800)]) {
            trial.parameters.insert("congestion".to_owned(), "cubic".into());
            trial.parameters.insert("size".to_owned(), 64.into());
            trial.parameters.insert("port".to_owned(), port.into());
            trial.parameters.insert("buffer".to_owned(), buffer.into());
        }
        let groups = groups(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        let expected: Parameters =
            [("buffer", 1000.into()), ("congestion", "cubic".into()), ("size", 64.into())]
                .into_iter()
                .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
                .collect();
        assert_eq!(in_force(&workload, &groups), expected);
    }

    #[test]
    fn what_is_unclear_takes_more_blocks_than_there_are() {
        let pairs = [(1.0, 1.0), (1.05, 1.0), (0.98, 1.0), (1.04, 1.0)];
        let ratio = PairedRatio::of(&pairs).unwrap();
        assert!(to_decide(&ratio, 0.02) > 4);
        let certain = PairedRatio::of(&[(2.0, 1.0), (2.01, 1.0), (2.02, 1.0)]).unwrap();
        assert_eq!(to_decide(&certain, 0.02), 4);
    }
}
