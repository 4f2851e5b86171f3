//! Waiting for cores: what threads that could have run and waited for a core explain of the spread of rounds.
//!
//! Other work on the machine delays the threads of one slice and not those of the next. The time is known for each
//! slice, so that what comes with it can be told from what does not. Verdicts do not use it: a network that wakes its
//! threads more often waits more often, so that the time is not free of the network's own influence.

use crate::compare::analysed_ratio::PairedFigures;
use crate::compare::analysis_history::{AnalysisHistory, ComparedPair};
use crate::compare::block_pairs::{TRIMMED_ROUNDS, round_logs};
use crate::estimate::trial_group::{GroupSamples, TrialGroup};
use tare_record::finding::CoreWaiting;
use tare_record::{Finding, Plan, Trial};
use tare_stats::covariate::{slope_within_groups, without_covariate};
use tare_stats::describe::{mean, trimmed_mean, trimmed_mean_error};

/// Smallest share of the variance that is told.
const LEAST_EXPLAINED: f64 = 0.25;

/// Fewest rounds of all blocks from which a slope is taken.
const FEWEST_ROUNDS: usize = 30;

/// Trials of a network and their figures of one metric.
#[derive(Clone, Copy)]
pub(crate) struct NetworkRounds<'a> {
    pub(crate) group: &'a TrialGroup<'a>,
    pub(crate) sampled: &'a GroupSamples,
}

/// Rounds of a network and of the baseline in one block.
struct BlockRounds {
    block: u32,
    /// Difference of the times waited, per time of a slice.
    waiting: Vec<f64>,
    /// Log ratios.
    logs: Vec<f64>,
}

/// Returns the finding of a network if the time that threads waited for cores explains much of the spread of its ratio
/// to the baseline.
pub(crate) fn waiting_finding(
    plan: &Plan,
    network: NetworkRounds<'_>,
    baseline: NetworkRounds<'_>,
    history: AnalysisHistory<'_>,
) -> Option<Finding> {
    let blocks = common_rounds(network, baseline);
    if blocks.iter().map(|block| block.logs.len()).sum::<usize>() < FEWEST_ROUNDS {
        return None;
    }
    let pairs = blocks.iter().map(|block| (&block.waiting[..], &block.logs[..]));
    let slope = slope_within_groups(pairs)?;
    let adjusted: Vec<Vec<f64>> =
        blocks.iter().map(|block| without_covariate(&block.waiting, &block.logs, slope)).collect();
    let variance =
        |logs: &[f64]| trimmed_mean_error(logs, TRIMMED_ROUNDS).map(|error| error * error);
    let before: f64 = blocks.iter().filter_map(|block| variance(&block.logs)).sum();
    let after: f64 = adjusted.iter().filter_map(|logs| variance(logs)).sum();
    let explained = 1.0 - after / before;
    if !explained.is_finite() || explained < LEAST_EXPLAINED {
        return None;
    }
    let figures = blocks.iter().zip(&adjusted).filter_map(|(block, logs)| {
        Some((block.block, (trimmed_mean(logs, TRIMMED_ROUNDS)?.exp(), 1.0)))
    });
    let label = |one: NetworkRounds<'_>| plan.networks[one.group.network].label.as_str();
    let pair = ComparedPair {
        network: label(network),
        baseline: label(baseline),
        shape: &plan.shapes[network.group.shape],
    };
    let ratio = figures.collect::<PairedFigures>().ratio(plan, pair, history)?;
    Some(Finding::CoreWaiting(CoreWaiting {
        network: mean_waiting(network.group)?,
        baseline: mean_waiting(baseline.group)?,
        explained,
        ratio: ratio.value,
        ci95: ratio.ci95,
    }))
}

/// Returns the rounds of the blocks in which both networks have them. Rounds in which nothing was counted are left out.
fn common_rounds(network: NetworkRounds<'_>, baseline: NetworkRounds<'_>) -> Vec<BlockRounds> {
    let mut blocks = Vec::new();
    for sample in network.sampled.samples() {
        let of_block = |group: &TrialGroup<'_>| {
            let mut trials = group.trials.iter().map(|(trial, _)| trial);
            trials.find(|trial| trial.block == sample.block).map(|trial| waiting_by_round(trial))
        };
        let beside = baseline.sampled.samples().iter().find(|one| one.block == sample.block);
        let (Some(beside), Some(own), Some(other)) =
            (beside, of_block(network.group), of_block(baseline.group))
        else {
            continue;
        };
        let logs = round_logs(&sample.rounds, &beside.rounds);
        if logs.len() != own.len() || own.len() != other.len() {
            continue;
        }
        let differences = own.iter().zip(&other).map(|(own, other)| own - other);
        let rounds = differences.zip(logs).filter(|(_, log)| log.is_finite());
        let (waiting, logs) = rounds.unzip();
        blocks.push(BlockRounds { block: sample.block, waiting, logs });
    }
    blocks
}

/// Returns the time that the threads of both sides waited for a core in each round, per time of a slice. Returns
/// nothing for a trial in one piece.
fn waiting_by_round(trial: &Trial) -> Vec<f64> {
    let Some(slices) = &trial.slices else { return Vec::new() };
    let length = slices.plan.length.as_secs_f64();
    let sides = trial.agents.clients.iter().zip(&trial.agents.servers);
    sides.map(|(client, server)| (client.waiting + server.waiting).as_secs_f64() / length).collect()
}

/// Returns the mean time that a network's threads waited, per time of its slices.
fn mean_waiting(group: &TrialGroup<'_>) -> Option<f64> {
    let all: Vec<f64> =
        group.trials.iter().flat_map(|(trial, _)| waiting_by_round(trial)).collect();
    mean(&all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::trial_group::group_trials;
    use crate::test_data::{SeededRandom, plan, trial, workload};
    use tare_record::{AgentsCpu, Metric, Nanos, SlicePlan, ThreadCpu, TrialSlices};

    /// Returns the woven trials of `host` and of `bridge`, which carries three quarters. In a fifth of the slices other
    /// work has the core for up to half of the time; the threads count it, or do not.
    fn trials(is_counted: bool) -> Vec<Trial> {
        let mut chance = SeededRandom::seeded(7);
        let mut all = Vec::new();
        for block in 0..6 {
            for (label, level) in [("host", 1e6), ("bridge", 0.75e6)] {
                let shares: Vec<f64> = (0..40)
                    .map(|_| if chance.uniform() < 0.5 { 0.5 * chance.uniform() } else { 0.0 })
                    .collect();
                let bytes: Vec<u64> =
                    shares.iter().map(|share| (level * (1.0 - share)) as u64).collect();
                let mut trial = trial(label, block, &bytes);
                let length = trial.series[0].intervals[0].length;
                let waited = |share: &f64| {
                    let share = if is_counted { *share } else { 0.3 };
                    let waiting = Nanos((length.0 as f64 * share) as u64);
                    ThreadCpu { waiting, ..ThreadCpu::default() }
                };
                trial.agents = AgentsCpu {
                    clients: shares.iter().map(waited).collect(),
                    servers: vec![ThreadCpu::default(); shares.len()],
                };
                let plan = SlicePlan { rounds: 40, warm_up: 0, length, skip: Nanos(0) };
                trial.slices = Some(TrialSlices { plan, began: Vec::new() });
                all.push(trial);
            }
        }
        all
    }

    fn finding(trials: &[Trial]) -> Option<Finding> {
        let plan = plan(&["host", "bridge"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let groups = group_trials(&plan, &trials.iter().collect::<Vec<_>>()).unwrap();
        let sampled =
            [0, 1].map(|group: usize| groups[group].samples_of_metric(Metric::Throughput));
        let [baseline, network] =
            [0, 1].map(|one: usize| NetworkRounds { group: &groups[one], sampled: &sampled[one] });
        waiting_finding(&plan, network, baseline, AnalysisHistory::at_end(&[]))
    }

    #[test]
    fn other_work_is_told_from_the_network() {
        let found = finding(&trials(true));
        let Some(Finding::CoreWaiting(CoreWaiting { network, explained, ratio, ci95, .. })) = found
        else {
            panic!("{found:?}");
        };
        assert!((0.05..0.3).contains(&network) && explained > 0.5, "{found:?}");
        assert!((ratio / 0.75 - 1.0).abs() < 0.02, "{found:?}");
        assert!(ci95[0] <= ratio && ratio <= ci95[1], "{found:?}");
    }

    #[test]
    fn what_explains_nothing_is_not_told() {
        assert_eq!(finding(&trials(false)), None);
        let mut in_one_piece = trials(true);
        in_one_piece.iter_mut().for_each(|trial| trial.slices = None);
        assert_eq!(finding(&in_one_piece), None);
    }
}
