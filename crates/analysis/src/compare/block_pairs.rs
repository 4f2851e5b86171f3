//! Pairs of two networks' figures in the same blocks.

use crate::Error;
use crate::estimate::trial_group::{GroupSamples, TrialGroup, group_trials};
use tare_record::journal::Journal;
use tare_record::{NetworkPair, Phase, Trial, WorkloadPlan};
use tare_stats::PairedRatio;

/// Returns the ratio of every two networks, once, in every metric of every workload in every shape. Pairs that share
/// fewer than two blocks, or have a figure that is withheld or 0, are left out. Under emulation there are no pairs.
///
/// # Errors
/// Returns an error if a trial's histograms cannot be added up.
pub fn network_pairs(journal: &Journal) -> Result<Vec<NetworkPair>, Error> {
    if journal.run.environment.emulated {
        return Ok(Vec::new());
    }
    let plan = &journal.run.plan;
    let groups = group_trials(plan, &main_trials(journal))?;
    let mut pairs = Vec::new();
    for together in groups.chunk_by(is_same_comparison) {
        let workload = &plan.workloads[together[0].workload];
        for &metric in &workload.metrics {
            let sampled: Vec<GroupSamples> =
                together.iter().map(|group| group.samples_of_metric(metric)).collect();
            for (below, beside) in together.iter().enumerate() {
                for (above, network) in together.iter().enumerate().skip(below + 1) {
                    let figures = pair_by_block(&sampled[above], &sampled[below]);
                    let Some(ratio) = PairedRatio::from_pairs(&figures) else {
                        continue;
                    };
                    pairs.push(NetworkPair {
                        workload: WorkloadPlan::distinct_name(&plan.workloads, network.workload),
                        shape: plan.shapes[network.shape].clone(),
                        metric,
                        network: plan.networks[network.network].label.clone(),
                        beside: plan.networks[beside.network].label.clone(),
                        value: ratio.value,
                        ci95: ratio.ci95,
                        p: ratio.p,
                        n: ratio.n,
                    });
                }
            }
        }
    }
    Ok(pairs)
}

/// Returns the trials of the main phase, which alone count for the results.
pub(crate) fn main_trials(journal: &Journal) -> Vec<&Trial> {
    journal.trials().into_iter().filter(|trial| trial.phase == Phase::Main).collect()
}

/// Returns `true` if two groups are compared with each other: they have the same workload and shape.
pub(crate) fn is_same_comparison(one: &TrialGroup<'_>, other: &TrialGroup<'_>) -> bool {
    (one.shape, one.workload) == (other.shape, other.workload)
}

/// Returns the figures of two networks in the blocks that both have.
pub(crate) fn pair_by_block(above: &GroupSamples, below: &GroupSamples) -> Vec<(f64, f64)> {
    let below = below.samples();
    above
        .samples()
        .iter()
        .filter_map(|sample| {
            let beside = below.iter().find(|beside| beside.block == sample.block)?;
            Some((sample.value, beside.value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{journal, plan, trial, workload};
    use tare_record::Metric;

    #[test]
    fn every_two_networks_stand_beside_each_other_once() {
        let plan =
            plan(&["host", "bridge", "veth"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let mut trials = Vec::new();
        for block in 0..3 {
            for (label, bytes) in [("host", 1_000), ("bridge", 500), ("veth", 800)] {
                // `veth` is only in one block: too little for a ratio.
                if label != "veth" || block == 1 {
                    trials.push(trial(label, block, &[bytes + u64::from(block); 10]));
                }
            }
        }
        let found = network_pairs(&journal(plan.clone(), trials.clone())).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].network.as_str(), found[0].beside.as_str()), ("bridge", "host"));
        assert!((found[0].value - 0.5).abs() < 1e-3);
        assert_eq!(found[0].n, 3);
        trials.push(trial("veth", 0, &[800; 10]));
        let found = network_pairs(&journal(plan, trials)).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|pair| (pair.network.as_str(), pair.beside.as_str(), pair.n))
            .collect();
        assert_eq!(names, [("bridge", "host", 3), ("veth", "host", 2), ("veth", "bridge", 2)]);
    }
}
