//! Length and number of a block's slices, chosen from the first blocks, which stay part of the result.
//!
//! Each of these blocks tries one length. The best length is the one at which the rounds leave the smallest error for the
//! time that they take. The number of rounds follows from two spreads and two costs: of rounds and of raises, in their
//! errors and in their time (Kalibera and Jones, ISMM 2013). No ratio itself has a part in the choice, only spreads.

use std::collections::BTreeMap;
use tare_analysis::BlockRatio;
use tare_record::{Metric, Nanos, SlicePlan, WorkloadPlan};
use tare_stats::describe::{mean, median, sd};
use tare_stats::student::StudentT;

/// Lengths that the first blocks try, in this order: those for which no bias against whole trials was found. The first is
/// that of runs whose number of blocks is fixed.
pub const LENGTHS: [Nanos; 3] = [Nanos(10_000_000), Nanos(20_000_000), Nanos(5_000_000)];

/// The same where threads sleep until the other end's message arrives. A connection that pauses leaves a timer of a delayed
/// acknowledgement, which keeps a core's idle tick for some 6 ms, 40 ms later: in a slice of another network.
pub const MESSAGE_LENGTHS: [Nanos; 2] = [Nanos(50_000_000), Nanos(100_000_000)];

/// Time of a slice in addition to its traffic: four wake-ups, and the pipes of the agents.
const ORDER_TIME: Nanos = Nanos(500_000);

/// Factors by which the number of rounds may differ from the study's.
const ROUND_FACTORS: [f64; 5] = [1.0, 0.5, 0.7, 1.4, 2.0];

/// Cost of the first blocks, and the time that is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockCost {
    /// Number of blocks so far, which are part of the result.
    pub blocks: usize,
    /// Mean duration of a block.
    pub block_time: Nanos,
    /// Number of networks that are woven, each as often as there are shapes.
    pub networks: usize,
    /// Time that is left of the budget. `None` without one.
    pub time_left: Option<Nanos>,
}

/// Slices of the rest of a run, and the spreads from which their number follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceChoice {
    /// The slices.
    pub slices: SlicePlan,
    /// Standard deviation of a round's log ratio, at this length.
    pub round_spread: f64,
    /// Standard deviation of a raise's log ratio, beyond what rounds explain.
    pub raise_spread: f64,
}

/// Returns the slices of a workload in one of the first blocks, which tries a length. Returns `None` for later blocks, and
/// for workloads whose length is fixed.
#[must_use]
pub fn tried_slices(workload: &WorkloadPlan, block: u32) -> Option<SlicePlan> {
    let length = *workload.slice_lengths.get(block as usize)?;
    Some(slices_of_length(workload.slices?, length))
}

/// Returns the slices of this length that take as long as those of a plan.
fn slices_of_length(plan: SlicePlan, length: Nanos) -> SlicePlan {
    let slices = SlicePlan { length, ..plan };
    let rounds = u64::from(plan.rounds) * round_time(plan).0 / round_time(slices).0.max(1);
    SlicePlan { rounds: u32::try_from(rounds.max(1)).unwrap_or(u32::MAX), ..slices }
}

/// Returns the time of one network's slice, ns.
fn round_time(slices: SlicePlan) -> Nanos {
    slices.slice_time() + ORDER_TIME
}

/// Chooses the slices of a workload for the rest of a run from its ratios in the first blocks. Without their cost, the
/// number of rounds stays. Returns `None` if the ratios say nothing.
#[must_use]
pub fn choose(
    workload: &WorkloadPlan,
    ratios: &[BlockRatio],
    cost: Option<BlockCost>,
) -> Option<SliceChoice> {
    let tried = TriedBlocks::new(ratios, workload.slice_lengths.len());
    let best = tried.best()?;
    let slices = slices_of_length(workload.slices?, workload.slice_lengths[best]);
    let round_variance = tried.median_variance(best)? * f64::from(slices.rounds);
    let raise_variance = tried.raise_variance();
    let best = cost.map(|cost| best_rounds(slices, round_variance, raise_variance, &cost));
    let rounds = best.unwrap_or(slices.rounds).max(fewest_rounds(workload, slices));
    Some(SliceChoice {
        slices: SlicePlan { rounds, ..slices },
        round_spread: round_variance.sqrt(),
        raise_spread: raise_variance.sqrt(),
    })
}

/// Index of a shape, a network and a metric.
type RatioKey = (usize, usize, Metric);

/// Ratios of the blocks that have tried a length each.
struct TriedBlocks {
    blocks: Vec<BTreeMap<RatioKey, BlockRatio>>,
    /// Ratios that all of these blocks have.
    keys: Vec<RatioKey>,
}

impl TriedBlocks {
    fn new(ratios: &[BlockRatio], count: usize) -> Self {
        let key = |ratio: &BlockRatio| (ratio.shape, ratio.network, ratio.metric);
        let ratios_of = |block: usize| {
            let ratios = ratios.iter().filter(move |ratio| ratio.block as usize == block);
            ratios.map(|ratio| (key(ratio), *ratio)).collect()
        };
        let blocks: Vec<BTreeMap<RatioKey, BlockRatio>> = (0..count).map(ratios_of).collect();
        let is_everywhere = |key: &&RatioKey| blocks.iter().all(|block| block.contains_key(*key));
        let first = blocks.first().into_iter().flat_map(BTreeMap::keys);
        let keys = first.filter(is_everywhere).copied().collect();
        Self { blocks, keys }
    }

    /// Returns the variance that the rounds of a block leave in a ratio.
    fn variance(&self, block: usize, key: &RatioKey) -> f64 {
        self.blocks[block][key].error.powi(2)
    }

    /// Returns the block whose rounds leave least in the median ratio. All blocks take the same time.
    fn best(&self) -> Option<usize> {
        let mut best = None;
        for block in 0..self.blocks.len() {
            let score = self.against_first(block)?;
            if best.is_none_or(|(_, least)| score < least) {
                best = Some((block, score));
            }
        }
        best.map(|(block, _)| block)
    }

    /// Returns the median log ratio of a block's variances to those of the first one.
    fn against_first(&self, block: usize) -> Option<f64> {
        let score = |key| (self.variance(block, key) / self.variance(0, key)).ln();
        let scores = self.keys.iter().map(score).filter(|score| score.is_finite());
        median(&scores.collect::<Vec<_>>())
    }

    /// Returns the median variance of a block's ratios.
    fn median_variance(&self, block: usize) -> Option<f64> {
        median(&self.keys.iter().map(|key| self.variance(block, key)).collect::<Vec<_>>())
    }

    /// Returns the variance of the ratios from block to block that their rounds do not explain.
    fn raise_variance(&self) -> f64 {
        let excess = self.keys.iter().filter_map(|key| {
            let logs: Vec<f64> = self.blocks.iter().map(|block| block[key].log_ratio).collect();
            let within: Vec<f64> =
                (0..self.blocks.len()).map(|block| self.variance(block, key)).collect();
            Some(sd(&logs)?.powi(2) - mean(&within)?)
        });
        median(&excess.collect::<Vec<_>>()).unwrap_or(0.0).max(0.0)
    }
}

/// Returns the fewest rounds of a block that has as much counted time as the study's, if the workload has percentiles
/// beyond the median: these need samples.
fn fewest_rounds(workload: &WorkloadPlan, slices: SlicePlan) -> u32 {
    let has_tail = workload.metrics.iter().any(|metric| metric.is_tail());
    let counted = workload.slices.filter(|_| has_tail);
    let rounds = counted.map_or(0, |plan| plan.duration().0.div_ceil(slices.length.0.max(1)));
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

/// Returns the number of rounds of a block that leaves the narrowest interval in the time that is left, or without a
/// budget the smallest error for the time of a block.
fn best_rounds(
    slices: SlicePlan,
    round_variance: f64,
    raise_variance: f64,
    cost: &BlockCost,
) -> u32 {
    let round = round_time(slices).as_secs_f64() * cost.networks as f64;
    let fixed = (cost.block_time.as_secs_f64() - f64::from(slices.rounds) * round).max(0.0);
    let variance = |rounds: u32| raise_variance + round_variance / f64::from(rounds);
    let width = |rounds: u32| {
        let block_time = fixed + f64::from(rounds) * round;
        match cost.time_left {
            None => Some(variance(rounds) * block_time),
            Some(left) => {
                let more = (left.as_secs_f64() / block_time).floor();
                let done = cost.blocks as f64;
                let blocks = done + more;
                let t = StudentT::for_mean(blocks as usize)?.half_width(0.95);
                let sum = done * variance(slices.rounds) + more * variance(rounds);
                Some(t * t * sum / (blocks * blocks))
            }
        }
    };
    let candidates = ROUND_FACTORS.map(|factor| (f64::from(slices.rounds) * factor).round());
    candidates
        .into_iter()
        .map(|rounds| (rounds as u32).max(2))
        .filter_map(|rounds| Some((rounds, width(rounds)?)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .map_or(slices.rounds, |(rounds, _)| rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_dev::made_up_workload;

    const SLICES: SlicePlan =
        SlicePlan { rounds: 30, warm_up: 2, length: LENGTHS[0], skip: Nanos(1_000_000) };

    fn workload() -> WorkloadPlan {
        WorkloadPlan {
            slices: Some(SLICES),
            slice_lengths: LENGTHS.to_vec(),
            ..made_up_workload("tcp-stream", &[Metric::Throughput])
        }
    }

    /// Returns the ratios of three networks in three blocks with these errors, and this deviation of each block.
    fn ratios(errors: [f64; 3], deviations: [f64; 3]) -> Vec<BlockRatio> {
        let ratio = |block: usize, network| BlockRatio {
            block: block as u32,
            shape: 0,
            network,
            metric: Metric::Throughput,
            log_ratio: deviations[block],
            error: errors[block] * network as f64,
        };
        (0..3).flat_map(|block| (1..4).map(move |network| ratio(block, network))).collect()
    }

    fn cost(block_time: u64, time_left: Option<u64>) -> Option<BlockCost> {
        Some(BlockCost {
            blocks: 3,
            block_time: Nanos(block_time),
            networks: 4,
            time_left: time_left.map(Nanos),
        })
    }

    #[test]
    fn every_length_is_tried_for_the_same_time() {
        let tried: Vec<SlicePlan> =
            (0..3).filter_map(|block| tried_slices(&workload(), block)).collect();
        assert_eq!(tried.iter().map(|slices| slices.length).collect::<Vec<_>>(), LENGTHS);
        // 11.5, 21.5 and 6.5 ms a slice.
        assert_eq!(tried.iter().map(|slices| slices.rounds).collect::<Vec<_>>(), [30, 16, 53]);
        assert_eq!(tried_slices(&workload(), 3), None);
        let fixed = WorkloadPlan { slice_lengths: Vec::new(), ..workload() };
        assert_eq!(tried_slices(&fixed, 0), None);
    }

    #[test]
    fn the_length_that_leaves_the_smallest_error_is_chosen() {
        for (errors, length) in [
            ([0.01, 0.02, 0.03], LENGTHS[0]),
            ([0.02, 0.01, 0.03], LENGTHS[1]),
            ([0.03, 0.02, 0.01], LENGTHS[2]),
        ] {
            let choice = choose(&workload(), &ratios(errors, [0.0; 3]), None).unwrap();
            assert_eq!(choice.slices.length, length);
            assert_eq!(choice.raise_spread, 0.0);
        }
        assert_eq!(choose(&workload(), &[], None), None);
        assert_eq!(choose(&workload(), &ratios([0.01; 3], [0.0; 3])[..4], None), None);
    }

    #[test]
    fn raises_that_differ_ask_for_fewer_rounds_and_raises_that_cost_for_more() {
        let rounds = |deviations, cost| {
            choose(&workload(), &ratios([0.01; 3], deviations), cost).unwrap().slices.rounds
        };
        let slices = 30 * 4 * 11_500_000;
        let (alike, different) = ([0.0; 3], [0.2, -0.2, 0.1]);
        assert_eq!(rounds(different, cost(slices, None)), 15);
        assert_eq!(rounds(alike, cost(10 * slices, None)), 60);
        // Few blocks are left: their number counts more than their precision.
        assert_eq!(rounds(alike, cost(slices, Some(5 * slices))), 15);
        // One block more than two, beside three that have run, is worth less than twice the precision of two.
        assert_eq!(rounds(alike, cost(4 * slices, Some(16_000_000_000))), 60);
        assert_eq!(rounds(different, None), 30);
    }

    #[test]
    fn percentiles_keep_their_samples() {
        let metrics = vec![Metric::Transactions, Metric::LatencyP99];
        let workload = WorkloadPlan { metrics, ..workload() };
        let slices = 30 * 4 * 11_500_000;
        let different = ratios([0.01, 0.01, 0.005], [0.2, -0.2, 0.1]);
        let choice = choose(&workload, &different, cost(slices, None)).unwrap();
        assert_eq!((choice.slices.rounds, choice.slices.duration()), (60, SLICES.duration()));
    }

    #[test]
    fn what_rounds_explain_is_not_ascribed_to_raises() {
        let spread = |deviations| {
            choose(&workload(), &ratios([0.01; 3], deviations), None).unwrap().raise_spread
        };
        assert_eq!(spread([0.01, -0.01, 0.0]), 0.0);
        assert!((spread([0.1, -0.1, 0.0]) - (0.01f64 - 0.0004).sqrt()).abs() < 1e-12);
    }
}
