//! How many whole blocks there are.

use crate::group::place;
use std::collections::{BTreeMap, BTreeSet};
use tare_record::{Failure, Phase, Plan, Trial, Turn};

/// The number of blocks in which every network that never broke has a trial of every workload in every shape; none
/// when all networks broke.
pub(crate) fn whole_blocks(plan: &Plan, trials: &[&Trial], failures: &[&Failure]) -> u32 {
    let stands = |label: &str| failures.iter().all(|failure| failure.network != label);
    let whole = plan.trials_in_block(|entry| stands(&entry.label));
    let mut seen: BTreeMap<u32, BTreeSet<(usize, usize, usize)>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| stands(&trial.label)) {
        seen.entry(trial.block).or_default().extend(place(plan, trial));
    }
    let blocks = seen.values().filter(|places| places.len() == whole).count();
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

/// The same where no traffic was asked for: the blocks in which every such network has had its turn in every shape.
pub(crate) fn whole_blocks_of_turns(plan: &Plan, turns: &[&Turn], failures: &[&Failure]) -> u32 {
    let stands = |label: &str| failures.iter().all(|failure| failure.network != label);
    let standing = plan.networks.iter().filter(|entry| stands(&entry.label)).count();
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for turn in turns.iter().filter(|turn| turn.phase == Phase::Main && stands(&turn.label)) {
        *seen.entry(turn.block).or_default() += 1;
    }
    let whole = standing * plan.shapes.len();
    let blocks = seen.values().filter(|turns| **turns == whole).count();
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{plan, trial, workload};
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
        assert_eq!(whole_blocks(&plan, &trials, &[]), 1);
        let broken = |network: &str| Failure {
            network: network.to_owned(),
            workload: None,
            block: Some(1),
            reason: String::new(),
            remedy: String::new(),
        };
        let (host, bridge) = (broken("host"), broken("bridge"));
        assert_eq!(whole_blocks(&plan, &trials, &[&bridge]), 3);
        assert_eq!(whole_blocks(&plan, &trials, &[&bridge, &host]), 0);
    }
}
