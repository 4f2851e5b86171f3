//! Cells of each client's figures and of fairness: scopes `client:N` and `fairness`.
//!
//! They explain the aggregate. They have no ratio and are in no family of Holm's correction: a comparison of twenty
//! clients would take away the power of the aggregate's verdict. Fairness is compared by difference, because its scale
//! ends at 1.

use crate::compare::block_pairs::pair_by_block;
use crate::compare::cell_draft::{CellDraft, mean_difference, uncompared_cell};
use crate::estimate::client_figures::shared_rate;
use crate::estimate::trial_group::{GroupSamples, TrialGroup};
use crate::explain::cell_findings;
use std::collections::BTreeSet;
use tare_record::{Better, Cell, Metric, Plan};

/// Returns the cells of every client and of fairness for the groups of one comparison, network by network.
pub(crate) fn draft_client_cells(
    plan: &Plan,
    together: &[TrialGroup<'_>],
    baseline: &str,
) -> Vec<CellDraft> {
    let metrics = &plan.workloads[together[0].workload].metrics;
    let mut cells = Vec::new();
    for group in together {
        for client in client_ids(group) {
            let mine = |metric: &Metric| client_cell(plan, group, client, *metric);
            cells.extend(metrics.iter().filter_map(mine));
        }
    }
    cells.extend(
        shared_rate(metrics)
            .into_iter()
            .flat_map(|rate| fairness_cells(plan, together, rate, baseline)),
    );
    cells.into_iter().map(|cell| CellDraft { cell, comparison: None }).collect()
}

/// Returns the clients of a group's trials. The set is empty if the trials have only one client.
fn client_ids(group: &TrialGroup<'_>) -> BTreeSet<u32> {
    let of_trial = group.trials.iter().filter_map(|(_, estimate)| estimate.clients.as_ref());
    of_trial.flat_map(|clients| clients.figures.keys().copied()).collect()
}

/// Returns the cell of a client's figures. Returns `None` if the client has no such figure.
fn client_cell(plan: &Plan, group: &TrialGroup<'_>, client: u32, metric: Metric) -> Option<Cell> {
    let figure = |estimate: &crate::TrialEstimate| {
        estimate.clients.as_ref()?.figures.get(&client)?.get(&metric).copied()
    };
    group.trials.iter().find_map(|(_, estimate)| figure(estimate))?;
    let sampled = group.samples_by(figure);
    let mut cell = uncompared_cell(plan, group, metric, &sampled);
    cell.scope = format!("client:{client}");
    cell.findings = cell_findings::sample_findings(metric, &sampled);
    Some(cell)
}

/// Returns the cells of Jain's index of a rate, one for each network.
fn fairness_cells(
    plan: &Plan,
    together: &[TrialGroup<'_>],
    rate: Metric,
    baseline: &str,
) -> Vec<Cell> {
    let index = |estimate: &crate::TrialEstimate| {
        estimate.clients.as_ref()?.fairness.filter(|(of, _)| *of == rate).map(|(_, index)| index)
    };
    let sampled: Vec<GroupSamples> = together.iter().map(|group| group.samples_by(index)).collect();
    let label = |group: &TrialGroup<'_>| plan.networks[group.network].label.as_str();
    let beside = together.iter().position(|group| label(group) == baseline);
    let mut cells = Vec::new();
    for (at, group) in together.iter().enumerate() {
        if sampled[at].samples().is_empty() {
            continue;
        }
        let mut cell = uncompared_cell(plan, group, rate, &sampled[at]);
        "fairness".clone_into(&mut cell.scope);
        "index".clone_into(&mut cell.unit);
        cell.better = Better::Higher;
        let pairs = beside
            .filter(|beside| *beside != at)
            .map(|beside| pair_by_block(&sampled[at], &sampled[beside]));
        cell.difference = mean_difference(&pairs.unwrap_or_default(), baseline);
        cells.push(cell);
    }
    cells
}

#[cfg(test)]
mod tests {
    use crate::document::document;
    use crate::test_data::{journal, plan, trial, workload};
    use tare_record::{Cell, Document, Metric, Series, Trial};

    /// Returns a trial in which client i carries `megabits[i]` Mbit/s.
    fn shares(label: &str, block: u32, megabits: &[u64]) -> Trial {
        let mut all = trial(label, block, &[]);
        all.series = (0..)
            .zip(megabits)
            .map(|(client, &rate)| {
                let one = trial(label, block, &[rate * 1_000_000 / 80; 10]);
                Series::new(client, one.series[0].intervals.clone())
            })
            .collect();
        all
    }

    fn small() -> Document {
        let plan = plan(&["host", "bridge"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = vec![
            shares("host", 0, &[100, 100]),
            shares("bridge", 0, &[100, 0]),
            shares("host", 1, &[100, 100]),
            shares("bridge", 1, &[80, 0]),
        ];
        document(&journal(plan, trials), None).unwrap()
    }

    fn scope<'a>(document: &'a Document, label: &str, scope: &str) -> &'a Cell {
        document.cells.iter().find(|cell| cell.label == label && cell.scope == scope).unwrap()
    }

    #[test]
    fn clients_have_figures_and_no_ratio() {
        let document = small();
        let first = scope(&document, "bridge", "client:0");
        assert!((first.mean.unwrap() - 0.09).abs() < 1e-12 && first.ci95.is_some());
        assert!(first.ratio.is_none() && first.hops.is_empty() && first.unit == "Gbit/s");
        assert_eq!(scope(&document, "bridge", "client:1").samples, [0.0, 0.0]);
        let families: Vec<_> =
            document.cells.iter().filter_map(|cell| cell.ratio.as_ref()).collect();
        assert_eq!(families.len(), 1, "the aggregate's alone");
        assert_eq!(families[0].p, families[0].p_adjusted);
    }

    #[test]
    fn fairness_is_compared_by_difference() {
        let document = small();
        let (host, bridge) =
            (scope(&document, "host", "fairness"), scope(&document, "bridge", "fairness"));
        assert_eq!((host.mean, bridge.mean), (Some(1.0), Some(0.5)));
        assert_eq!((bridge.metric, bridge.unit.as_str()), (Metric::Throughput, "index"));
        let difference = bridge.difference.as_ref().unwrap();
        assert_eq!((difference.baseline.as_str(), difference.value), ("host", -0.5));
        assert!(host.difference.is_none() && bridge.ratio.is_none());
    }

    #[test]
    fn one_client_has_no_scope_of_its_own() {
        let plan = plan(&["host"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = vec![shares("host", 0, &[100]), shares("host", 1, &[100])];
        let document = document(&journal(plan, trials), None).unwrap();
        assert!(document.cells.iter().all(|cell| cell.scope == "aggregate"));
    }
}
