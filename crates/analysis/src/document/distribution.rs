//! Whole distributions of latencies, for plots.

use crate::Error;
use crate::compare::block_pairs::main_trials;
use crate::estimate::trial_group::{TrialGroup, group_trials};
use crate::select::trial_traffic::TrialTraffic;
use tare_record::journal::Journal;
use tare_record::{LatencyDistribution, LatencyHistogram, LatencyKind, Plan, WorkloadPlan};

/// Returns every network's latencies of each measured kind, over the steady parts of all trials of the main phase, in
/// the order shapes × workloads × networks.
///
/// # Errors
/// Returns an error if a trial's histograms cannot be added up.
pub fn distributions(journal: &Journal) -> Result<Vec<LatencyDistribution>, Error> {
    let plan = &journal.run.plan;
    group_distributions(plan, &group_trials(plan, &main_trials(journal))?)
}

/// Returns the distributions of trials that are grouped already.
pub(crate) fn group_distributions(
    plan: &Plan,
    groups: &[TrialGroup<'_>],
) -> Result<Vec<LatencyDistribution>, Error> {
    let mut all = Vec::new();
    for group in groups {
        for which in LatencyKind::ALL {
            if let Some(latencies) = merge_latencies(group, which)? {
                all.push(LatencyDistribution {
                    label: plan.networks[group.network].label.clone(),
                    workload: WorkloadPlan::distinct_name(&plan.workloads, group.workload),
                    shape: plan.shapes[group.shape].clone(),
                    which,
                    latencies,
                });
            }
        }
    }
    Ok(all)
}

/// Adds up the latencies of all trials of a group. Returns `None` if no trial has any.
fn merge_latencies(
    group: &TrialGroup<'_>,
    which: LatencyKind,
) -> Result<Option<LatencyHistogram>, Error> {
    let mut all: Option<LatencyHistogram> = None;
    for (trial, estimate) in &group.trials {
        let broken =
            |source| Error::Latencies { label: trial.label.clone(), block: trial.block, source };
        let traffic = TrialTraffic::from_trial(trial);
        let kept = traffic.latencies(estimate.cut..traffic.len(), which);
        match (&mut all, kept) {
            (Some(all), Some(kept)) => all.merge(&kept).map_err(broken)?,
            (nothing @ None, kept) => *nothing = kept,
            (Some(_), None) => {}
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{journal, plan, transactions, trial, workload};
    use tare_record::Metric;

    #[test]
    fn all_trials_of_a_network_are_one_distribution_without_their_warm_up() {
        let plan = plan(
            &["host", "bridge"],
            vec![workload("tcp-rr", &[Metric::LatencyP50]), workload("tcp-stream", &[])],
        );
        // One interval of ten is cut.
        let slow_start = |level: u64| {
            let mut intervals = vec![vec![level; 5]; 10];
            intervals[0] = vec![1];
            intervals
        };
        let trials = vec![
            transactions("host", 0, &slow_start(1_000)),
            transactions("host", 1, &slow_start(2_000)),
            transactions("bridge", 0, &slow_start(3_000)),
            trial("bridge", 0, &[7; 10]),
        ];
        let found = distributions(&journal(plan, trials)).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.label.as_str(), one.workload.as_str(), one.latencies.count()))
            .collect();
        assert_eq!(told, [("host", "tcp-rr", 90), ("bridge", "tcp-rr", 45)]);
        assert!(found[0].latencies.iter().all(|(nanos, _)| nanos >= 1_000));
    }
}
