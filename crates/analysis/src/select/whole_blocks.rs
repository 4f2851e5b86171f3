//! Number of whole blocks of a run.

use crate::count::count;
use std::collections::BTreeMap;
use tare_record::{
    InterimAnalysis, NetworkFailure, NetworkTurn, Phase, Plan, RemainingPlan, Trial,
};

/// Counts the blocks in which every network and shape that never failed, and was not decided before, has its trials.
/// Returns 0 if everything failed.
pub(crate) fn count_whole_blocks(
    plan: &Plan,
    trials: &[&Trial],
    failures: &[&NetworkFailure],
    analyses: &[InterimAnalysis],
) -> u32 {
    let whole = RemainingPlan::whole_blocks(plan, trials, Phase::Main, failures, analyses);
    count(whole.len())
}

/// Counts the blocks in which every network and shape that never failed has had its turn, for runs without traffic.
pub(crate) fn count_whole_turn_blocks(
    plan: &Plan,
    turns: &[&NetworkTurn],
    failures: &[&NetworkFailure],
) -> u32 {
    let standing = RemainingPlan::after_failures(plan, failures.iter().copied());
    let stands = |turn: &NetworkTurn| {
        let place = plan.locate_turn(&turn.label, &turn.shape);
        place.is_some_and(|(network, shape)| standing.has_turn(network, shape))
    };
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for turn in turns.iter().filter(|turn| turn.phase == Phase::Main && stands(turn)) {
        *seen.entry(turn.block).or_default() += 1;
    }
    let whole = standing.turn_count();
    let blocks = seen.values().filter(|turns| **turns == whole).count();
    count(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, trial, workload};
    use tare_record::Metric;

    #[test]
    fn a_block_is_whole_when_all_that_stand_are_in_it() {
        let plan = plan(&["host", "bridge"], vec![workload("tcp-stream", &[Metric::Throughput])]);
        let trials = [
            trial("host", 0, &[1]),
            trial("bridge", 0, &[1]),
            trial("host", 1, &[1]),
            trial("host", 2, &[1]),
        ];
        let trials: Vec<&Trial> = trials.iter().collect();
        assert_eq!(count_whole_blocks(&plan, &trials, &[], &[]), 1);
        let broken = |network: &str| NetworkFailure {
            network: network.to_owned(),
            block: Some(1),
            ..NetworkFailure::default()
        };
        let (host, bridge) = (broken("host"), broken("bridge"));
        assert_eq!(count_whole_blocks(&plan, &trials, &[&bridge], &[]), 3);
        assert_eq!(count_whole_blocks(&plan, &trials, &[&bridge, &host], &[]), 0);
    }
}
