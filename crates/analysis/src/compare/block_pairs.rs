//! Pairs of two networks' figures in the same blocks.

use crate::Error;
use crate::estimate::pooled_blocks::comparison_samples;
use crate::estimate::trial_group::{BlockSample, GroupSamples, TrialGroup, group_trials};
use tare_record::journal::Journal;
use tare_record::{NetworkPair, NetworkTurn, Phase, Trial, WorkloadPlan};
use tare_stats::PairedRatio;
use tare_stats::describe::trimmed_mean;

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
            let sampled = comparison_samples(together, metric)?.sampled;
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

/// Returns the networks' turns of the main phase.
pub(crate) fn main_turns(journal: &Journal) -> Vec<&NetworkTurn> {
    journal.turns().into_iter().filter(|turn| turn.phase == Phase::Main).collect()
}

/// Returns `true` if two groups are compared with each other: they have the same workload and shape.
pub(crate) fn is_same_comparison(one: &TrialGroup<'_>, other: &TrialGroup<'_>) -> bool {
    (one.shape, one.workload) == (other.shape, other.workload)
}

/// Share of a block's rounds that is left out at either end, before the rest is averaged: a round in which the machine
/// was taken away says nothing about networks.
pub(crate) const TRIMMED_ROUNDS: f64 = 0.2;

/// Returns the figures of two networks in the blocks that both have. If the networks were woven, the first figure of a
/// pair is the second one times the trimmed mean of the rounds' ratios.
pub(crate) fn pair_by_block(above: &GroupSamples, below: &GroupSamples) -> Vec<(f64, f64)> {
    paired_samples(above, below)
        .map(|(sample, beside)| match trimmed_ratio(&sample.rounds, &beside.rounds) {
            Some(ratio) => (beside.value * ratio, beside.value),
            None => (sample.value, beside.value),
        })
        .collect()
}

/// Returns the blocks that two networks both have, in the order of their pairs; of pools of blocks the first ones.
pub(crate) fn paired_blocks(above: &GroupSamples, below: &GroupSamples) -> Vec<u32> {
    paired_samples(above, below).map(|(sample, _)| sample.block).collect()
}

/// Returns the figures of two networks in the blocks that both have, as the plain means over the blocks' rounds. Returns
/// `None` if the networks were not woven.
pub(crate) fn plain_pairs(above: &GroupSamples, below: &GroupSamples) -> Option<Vec<(f64, f64)>> {
    let woven = paired_samples(above, below)
        .any(|(sample, beside)| trimmed_ratio(&sample.rounds, &beside.rounds).is_some());
    let plain =
        || paired_samples(above, below).map(|(sample, beside)| (sample.value, beside.value));
    woven.then(|| plain().collect())
}

fn paired_samples<'s>(
    above: &'s GroupSamples,
    below: &'s GroupSamples,
) -> impl Iterator<Item = (&'s BlockSample, &'s BlockSample)> {
    let below = below.samples();
    above.samples().iter().filter_map(|sample| {
        Some((sample, below.iter().find(|beside| beside.block == sample.block)?))
    })
}

/// Returns the ratio of two networks in the rounds of a block: the exponential of the trimmed mean of the log ratios.
/// Returns `None` if they have no rounds in common, or if in more rounds than are trimmed nothing was counted.
fn trimmed_ratio(network: &[f64], beside: &[f64]) -> Option<f64> {
    trimmed_mean(&round_logs(network, beside), TRIMMED_ROUNDS)
        .filter(|mean| mean.is_finite())
        .map(f64::exp)
}

/// Returns the log ratios of two networks in the rounds of a block; none if they have no rounds in common.
pub(crate) fn round_logs(network: &[f64], beside: &[f64]) -> Vec<f64> {
    if network.len() != beside.len() {
        return Vec::new();
    }
    network.iter().zip(beside).map(|(one, other)| (one / other).ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{journal, plan, transactions, trial, workload};
    use tare_record::{Metric, Nanos, SlicePlan, TrialSlices};

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

    fn samples(figures: &[(u32, f64, &[f64])]) -> GroupSamples {
        let sample = |&(block, value, rounds): &(u32, f64, &[f64])| BlockSample {
            rounds: rounds.to_vec(),
            ..BlockSample::whole(block, value)
        };
        GroupSamples::Figures(figures.iter().map(sample).collect())
    }

    #[test]
    fn a_round_that_was_disturbed_does_not_move_a_woven_ratio() {
        let above = samples(&[(0, 7.0, &[5.0, 10.0, 15.0, 20.0, 1.0])]);
        let below = samples(&[(0, 22.0, &[10.0, 20.0, 30.0, 40.0, 50.0])]);
        let pairs = pair_by_block(&above, &below);
        assert!((pairs[0].0 / pairs[0].1 - 0.5).abs() < 1e-12, "{pairs:?}");
        assert_eq!(plain_pairs(&above, &below), Some(vec![(7.0, 22.0)]));
    }

    /// Returns a woven trial of ten slices with 1,500 round trips each, of a hundred lengths up to this one. In `spoilt`, a
    /// fifth of them took 10 ms.
    fn woven_round_trips(label: &str, block: u32, longest: u64, spoilt: Option<usize>) -> Trial {
        let slice = |at: usize| -> Vec<u64> {
            let late = if spoilt == Some(at) { 300 } else { 0 };
            let usual = (late..1_500).map(|nth| (nth % 100 + 1) * longest / 100);
            (0..late).map(|_| 10_000_000).chain(usual).collect()
        };
        let mut trial = transactions(label, block, &(0..10).map(slice).collect::<Vec<_>>());
        let length = trial.series[0].intervals[0].length;
        let plan = SlicePlan { rounds: 10, warm_up: 0, length, skip: Nanos(0) };
        trial.slices = Some(TrialSlices { plan, began: vec![Nanos(0); 10] });
        trial
    }

    #[test]
    fn a_moment_that_spoilt_the_tail_of_a_block_does_not_move_a_woven_ratio() {
        let plan = plan(&["host", "bridge"], vec![workload("tcp-rr", &[Metric::LatencyP99])]);
        let spoilt = |block| (block == 1).then_some(3);
        let trials: Vec<Trial> = (0..3)
            .flat_map(|block| {
                [
                    woven_round_trips("host", block, 40_000, spoilt(block)),
                    woven_round_trips("bridge", block, 60_000, None),
                ]
            })
            .collect();
        let groups = group_trials(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        let of_host = groups[0].samples_of_metric(Metric::LatencyP99);
        assert!(of_host.samples()[1].value > 9_000.0, "the block's own percentile: {of_host:?}");
        let found = network_pairs(&journal(plan, trials)).unwrap();
        assert!((found[0].value - 1.5).abs() < 0.01 && found[0].n == 3, "{found:?}");
    }

    #[test]
    fn blocks_without_rounds_are_paired_by_their_figures() {
        let above = samples(&[(0, 7.0, &[]), (2, 3.0, &[])]);
        let below = samples(&[(1, 1.0, &[]), (2, 6.0, &[])]);
        assert_eq!(pair_by_block(&above, &below), [(3.0, 6.0)]);
        assert_eq!(plain_pairs(&above, &below), None);
    }

    #[test]
    fn rounds_in_which_nothing_came_are_trimmed_or_the_plain_figures_taken() {
        let one = samples(&[(0, 4.0, &[0.0, 5.0, 5.0, 5.0, 5.0])]);
        let two = samples(&[(0, 3.0, &[0.0, 0.0, 5.0, 5.0, 5.0])]);
        let below = samples(&[(0, 5.0, &[5.0; 5])]);
        assert_eq!(pair_by_block(&one, &below), [(5.0, 5.0)]);
        assert_eq!(pair_by_block(&two, &below), [(3.0, 5.0)]);
    }

    #[test]
    fn swapping_two_woven_networks_mirrors_their_ratio() {
        let one = samples(&[(0, 4.0, &[3.0, 5.0, 4.0, 6.0, 2.0, 9.0])]);
        let other = samples(&[(0, 5.0, &[5.0, 4.0, 5.5, 3.0, 2.5, 7.0])]);
        let ratio = |pairs: Vec<(f64, f64)>| pairs[0].0 / pairs[0].1;
        let product = ratio(pair_by_block(&one, &other)) * ratio(pair_by_block(&other, &one));
        assert!((product - 1.0).abs() < 1e-12);
    }
}
