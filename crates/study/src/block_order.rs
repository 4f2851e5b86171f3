//! Order of measurement within a block: seeded, random, and balanced for carry-over between networks.
//!
//! The order of networks is a row of a Williams square (E. J. Williams, 1949). Over a whole square every network has
//! every position once and directly follows every other network equally often, so that neither the position nor the
//! after-effects of a neighbour (warm caches, a clock slowed by heat) favour a network. The assignment of networks to
//! the letters of the square and the order of its rows are drawn anew for every square.

use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tare_record::{Phase, Plan};

/// One network's turn in a block: the network is set up once, and all workloads run over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTurn {
    /// Index of the shape in the plan.
    pub shape: usize,
    /// Index of the network in the plan.
    pub network: usize,
    /// Indices of the workloads, in the order in which they run: the same for all networks of a block, so that it
    /// cancels in ratios.
    pub workloads: Vec<usize>,
    /// Position of the network among the networks of this shape, from 0.
    pub position: u32,
}

/// Returns the turns of one block. The same plan, phase and number always give the same turns.
#[must_use]
pub fn order_block(plan: &Plan, phase: Phase, number: u32) -> Vec<PlannedTurn> {
    let mut random = seeded_generator(plan.seed, phase, RandomStream::Block, number);
    let mut shapes: Vec<usize> = (0..plan.shapes.len()).collect();
    shapes.shuffle(&mut random);
    let mut workloads: Vec<usize> = (0..plan.workloads.len()).collect();
    workloads.shuffle(&mut random);
    let networks = network_order(plan, phase, number);
    let turn = |shape: usize, network: usize| {
        let measured = |&workload: &usize| plan.measures(network, workload, shape);
        let workloads: Vec<usize> = workloads.iter().copied().filter(measured).collect();
        // A plan without workloads measures the setup and teardown times of networks, so each network is set up.
        let has_work = !workloads.is_empty() || plan.workloads.is_empty();
        has_work.then_some(PlannedTurn { shape, network, workloads, position: 0 })
    };
    shapes
        .into_iter()
        .flat_map(|shape| {
            let turns = networks.iter().filter_map(|&network| turn(shape, network));
            turns
                .zip(0..)
                .map(|(turn, position)| PlannedTurn { position, ..turn })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the order of so many networks in each of so many rounds of a woven workload: rows of Williams squares, each
/// square drawn anew. The same plan, phase, block and workload always give the same orders.
#[must_use]
pub fn order_rounds(
    plan: &Plan,
    phase: Phase,
    block: u32,
    workload: usize,
    networks: usize,
    rounds: u32,
) -> Vec<Vec<usize>> {
    let mut random = seeded_generator(plan.seed, phase, RandomStream::Rounds, block);
    // Workloads of a block have orders of their own, from one stream.
    random.set_word_pos(u128::try_from(workload).unwrap_or(u128::MAX) << 32);
    let square = williams_square(networks);
    let mut orders = Vec::new();
    while orders.len() < rounds as usize && !square.is_empty() {
        let mut letters: Vec<usize> = (0..networks).collect();
        letters.shuffle(&mut random);
        let mut rows: Vec<usize> = (0..square.len()).collect();
        rows.shuffle(&mut random);
        let named = |row: usize| square[row].iter().map(|&letter| letters[letter]).collect();
        orders.extend(rows.into_iter().map(named));
    }
    orders.truncate(rounds as usize);
    orders
}

/// Returns the order of the networks in one block: a row of the square that this block falls into.
fn network_order(plan: &Plan, phase: Phase, number: u32) -> Vec<usize> {
    let square = williams_square(plan.networks.len());
    let rows = u32::try_from(square.len().max(1)).unwrap_or(u32::MAX);
    let mut random = seeded_generator(plan.seed, phase, RandomStream::Square, number / rows);
    let mut letters: Vec<usize> = (0..plan.networks.len()).collect();
    letters.shuffle(&mut random);
    let mut order: Vec<usize> = (0..square.len()).collect();
    order.shuffle(&mut random);
    order
        .get((number % rows) as usize)
        .map(|&row| square[row].iter().map(|&letter| letters[letter]).collect())
        .unwrap_or_default()
}

/// Purpose of a random generator, so that no two purposes share numbers.
#[derive(Clone, Copy)]
enum RandomStream {
    Block,
    Square,
    Rounds,
}

fn seeded_generator(seed: u64, phase: Phase, purpose: RandomStream, number: u32) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let phase = match phase {
        Phase::Pilot => 0u64,
        Phase::Main => 1,
    };
    let purpose = match purpose {
        RandomStream::Block => 0u64,
        RandomStream::Square => 1,
        RandomStream::Rounds => 2,
    };
    // The first two purposes keep the streams that old seeds drew from.
    let purpose = (purpose & 1) | ((purpose >> 1) << 63);
    random.set_stream((u64::from(number) << 2) ^ (phase << 1) ^ purpose);
    random
}

/// Returns the rows of a Williams square over 0..n: n rows for an even n, 2n for an odd one.
fn williams_square(n: usize) -> Vec<Vec<usize>> {
    // 0, 1, n−1, 2, n−2, …: neighbours differ by every amount exactly once.
    let first: Vec<usize> =
        (0..n).map(|i| if i % 2 == 1 { i.div_ceil(2) } else { (n - i / 2) % n }).collect();
    let shifted = |by: usize| first.iter().map(|&letter| (letter + by) % n).collect::<Vec<_>>();
    let rows: Vec<Vec<usize>> = (0..n).map(shifted).collect();
    if n.is_multiple_of(2) {
        return rows;
    }
    let reversed = rows.iter().map(|row| row.iter().rev().copied().collect());
    rows.iter().cloned().chain(reversed).collect()
}

/// Returns a new seed for a run without a given seed, short enough to be typed.
#[must_use]
pub fn fresh_seed() -> u64 {
    u64::from(rand::rng().random::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::plan_of;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn every_network_follows_every_other_equally_often(n in 2usize..12) {
            let square = williams_square(n);
            let mut follows: BTreeMap<(usize, usize), u32> = BTreeMap::new();
            for row in &square {
                let mut sorted = row.clone();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                for pair in row.windows(2) {
                    *follows.entry((pair[0], pair[1])).or_default() += 1;
                }
            }
            prop_assert_eq!(follows.len(), n * (n - 1));
            let times = if n % 2 == 0 { 1 } else { 2 };
            prop_assert!(follows.values().all(|&count| count == times));
        }

        #[test]
        fn a_block_has_every_network_once_and_is_the_same_again(seed: u64, number in 0u32..500, n in 1usize..9) {
            let mut plan = plan_of(n);
            plan.seed = seed;
            let turns = order_block(&plan, Phase::Main, number);
            let mut networks: Vec<_> = turns.iter().map(|turn| turn.network).collect();
            networks.sort_unstable();
            prop_assert_eq!(networks, (0..n).collect::<Vec<_>>());
            prop_assert_eq!(turns, order_block(&plan, Phase::Main, number));
        }
    }

    /// Every network has every position once over the blocks of a square, and directly follows every other equally
    /// often.
    #[test]
    fn the_blocks_of_a_whole_square_are_balanced() {
        for (n, rows, times) in [(2, 2, 1), (3, 6, 2), (4, 4, 1), (6, 6, 1)] {
            let plan = plan_of(n);
            for square in 0..5 {
                let (mut places, mut follows) = (BTreeMap::new(), BTreeMap::new());
                for number in square * rows..(square + 1) * rows {
                    let order = network_order(&plan, Phase::Main, number);
                    for (place, &network) in order.iter().enumerate() {
                        *places.entry((place, network)).or_insert(0) += 1;
                    }
                    for pair in order.windows(2) {
                        *follows.entry((pair[0], pair[1])).or_insert(0) += 1;
                    }
                }
                assert!(places.len() == n * n && places.values().all(|&count| count == times));
                assert!(
                    follows.len() == n * (n - 1) && follows.values().all(|&count| count == times)
                );
            }
        }
    }

    #[test]
    fn a_block_has_every_network_once_in_every_shape() {
        let shapes = [1, 2, 4].map(|clients| tare_record::Shape { clients, ..Default::default() });
        let plan = Plan { shapes: shapes.to_vec(), ..plan_of(3) };
        for number in 0..20 {
            let turns = order_block(&plan, Phase::Main, number);
            let mut all: Vec<_> = turns.iter().map(|turn| (turn.shape, turn.network)).collect();
            all.sort_unstable();
            let expected: Vec<_> =
                (0..3).flat_map(|shape| (0..3).map(move |network| (shape, network))).collect();
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn networks_have_their_turns_without_any_workload() {
        let plan = Plan { workloads: Vec::new(), ..plan_of(3) };
        let turns = order_block(&plan, Phase::Main, 0);
        assert_eq!((turns.len(), turns[0].workloads.len()), (3, 0));
    }

    #[test]
    fn seeds_and_phases_give_other_orders() {
        let plan = plan_of(8);
        let other = Plan { seed: plan.seed + 1, ..plan.clone() };
        let orders =
            |plan: &Plan, phase| (0..8).map(|n| order_block(plan, phase, n)).collect::<Vec<_>>();
        assert_ne!(orders(&plan, Phase::Main), orders(&other, Phase::Main));
        assert_ne!(orders(&plan, Phase::Main), orders(&plan, Phase::Pilot));
    }
}
