//! Cells of one comparison in all metrics of its workload: the aggregates, with hops and findings, then the clients.

use crate::Error;
use crate::compare::analysis_history::AnalysisHistory;
use crate::compare::cell_draft::{CellDraft, comparison_context};
use crate::document::client_cells;
use crate::estimate::pooled_blocks::{ComparisonSamples, comparison_samples};
use crate::estimate::trial_group::TrialGroup;
use crate::explain::core_waiting::{NetworkRounds, waiting_finding};
use crate::explain::drift::drifts;
use crate::explain::{ablation, cell_findings};
use tare_record::finding::PooledBlocks;
use tare_record::{Finding, Hop, Parameters, Plan, WorkloadPlan};

/// Returns the drafts of all metrics of the groups of one comparison: the aggregate over all clients first, then the
/// cells of each client and of fairness.
pub(crate) fn draft_comparison(
    plan: &Plan,
    together: &[TrialGroup<'_>],
    baseline: &str,
    history: AnalysisHistory<'_>,
) -> Result<Vec<CellDraft>, Error> {
    let workload = &plan.workloads[together[0].workload];
    let parameters = parameters_in_force(workload, together);
    let networks: Vec<usize> = together.iter().map(|group| group.network).collect();
    let mut all = Vec::new();
    for &metric in &workload.metrics {
        let ComparisonSamples { sampled, blocks_per_sample } =
            comparison_samples(together, metric)?;
        // Most machines do not expose hardware counters: such metrics are left out then.
        if metric.is_hardware_based() && sampled.iter().all(|sampled| sampled.samples().is_empty())
        {
            continue;
        }
        let drifts = drifts(&sampled);
        let figures = ablation::ComparisonFigures::new(plan, together, &sampled, history);
        let mut drafts = comparison_context(plan, &together[0], metric, baseline, history)
            .draft_cells(&networks, &sampled);
        let rounds =
            |index: usize| NetworkRounds { group: &together[index], sampled: &sampled[index] };
        let label = |group: &TrialGroup<'_>| plan.networks[group.network].label.as_str();
        let beside = together.iter().position(|group| label(group) == baseline);
        for (index, group) in together.iter().enumerate() {
            let cell = &mut drafts[index].cell;
            cell.hops = recorded_path(group);
            cell.findings = cell_findings::cell_findings(&group.trials, metric, &sampled[index]);
            let pooled = Finding::PooledBlocks(PooledBlocks { blocks: blocks_per_sample });
            cell.findings.extend((blocks_per_sample > 1).then_some(pooled));
            cell.findings.extend(drifts[index].clone());
            cell.findings.extend(
                beside.filter(|beside| *beside != index).and_then(|beside| {
                    waiting_finding(plan, rounds(index), rounds(beside), history)
                }),
            );
            cell.findings.extend(ablation::ablation_finding(
                &figures,
                &cell.label,
                baseline,
                metric,
            ));
        }
        all.extend(drafts);
    }
    all.extend(client_cells::draft_client_cells(plan, together, baseline));
    all.iter_mut().for_each(|draft| draft.cell.parameters.clone_from(&parameters));
    Ok(all)
}

/// Returns a group's path, as its first trial recorded it.
fn recorded_path(group: &TrialGroup<'_>) -> Vec<Hop> {
    group.trials.first().map(|(trial, _)| trial.hops.clone()).unwrap_or_default()
}

/// Returns the parameters of a comparison: the planned values, corrected and completed by the values in force in all
/// its trials. A value that differs between trials (a port, a granted buffer) does not distinguish comparisons.
fn parameters_in_force(workload: &WorkloadPlan, together: &[TrialGroup<'_>]) -> Parameters {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::trial_group::group_trials;
    use crate::test_data::{plan, trial, workload};
    use tare_record::Metric;

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
        let groups = group_trials(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        let expected: Parameters =
            [("buffer", 1000.into()), ("congestion", "cubic".into()), ("size", 64.into())]
                .into_iter()
                .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
                .collect();
        assert_eq!(parameters_in_force(&workload, &groups), expected);
    }
}
