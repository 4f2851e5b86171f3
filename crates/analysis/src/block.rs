//! How many whole blocks there are.

use std::collections::BTreeMap;
use tare_record::{Failure, Phase, Plan, Standing, Trial, Turn};

/// The number of blocks in which everything that never broke has its trial; none when everything broke.
pub(crate) fn whole_blocks(plan: &Plan, trials: &[&Trial], failures: &[&Failure]) -> u32 {
    let standing = Standing::after(plan, failures.iter().copied());
    let whole = standing.whole_blocks(plan, trials, Phase::Main);
    u32::try_from(whole.len()).unwrap_or(u32::MAX)
}

/// The same where no traffic was asked for: the blocks in which everything that never broke has had its turn.
pub(crate) fn whole_blocks_of_turns(plan: &Plan, turns: &[&Turn], failures: &[&Failure]) -> u32 {
    let standing = Standing::after(plan, failures.iter().copied());
    let stands = |turn: &Turn| {
        let place = plan.place_of_turn(&turn.label, &turn.shape);
        place.is_some_and(|(network, shape)| standing.has_turn(network, shape))
    };
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for turn in turns.iter().filter(|turn| turn.phase == Phase::Main && stands(turn)) {
        *seen.entry(turn.block).or_default() += 1;
    }
    let whole = standing.turns();
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
            block: Some(1),
            ..Failure::default()
        };
        let (host, bridge) = (broken("host"), broken("bridge"));
        assert_eq!(whole_blocks(&plan, &trials, &[&bridge]), 3);
        assert_eq!(whole_blocks(&plan, &trials, &[&bridge, &host]), 0);
    }
}
