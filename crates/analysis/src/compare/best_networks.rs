//! Best networks of a comparison, ties included.

use crate::compare::block_pairs::pair_by_block;
use crate::compare::verdict::TEST_LEVEL;
use crate::estimate::trial_group::GroupSamples;
use tare_record::{Better, ComparedBy, Metric};
use tare_stats::PairedRatio;
use tare_stats::describe::{mean, mean_interval};

/// Returns for each network `true` if it has the best mean, or cannot be distinguished from the network that has: a
/// paired test at two-sided 5 %, not corrected for the number of networks, because here a tie is the careful answer. A
/// single network is not the best.
pub(crate) fn best_networks(sampled: &[GroupSamples], metric: Metric) -> Vec<bool> {
    let means: Vec<Option<f64>> = sampled.iter().map(mean_figure).collect();
    let measured = || means.iter().enumerate().filter_map(|(index, mean)| Some((index, (*mean)?)));
    let winner = match metric.better() {
        Better::Higher => measured().max_by(|one, other| one.1.total_cmp(&other.1)),
        Better::Lower => measured().min_by(|one, other| one.1.total_cmp(&other.1)),
    };
    match winner {
        Some((winner, _)) if measured().count() > 1 => (0..sampled.len())
            .map(|index| {
                index == winner || is_tied(&sampled[index], &sampled[winner], metric.compared_by())
            })
            .collect(),
        _ => vec![false; sampled.len()],
    }
}

/// Returns the mean of a network's figures.
fn mean_figure(sampled: &GroupSamples) -> Option<f64> {
    mean(&sampled.samples().iter().map(|sample| sample.value).collect::<Vec<_>>())
}

/// Returns `true` if a network cannot be distinguished from the best one: there are too few common blocks, or the test
/// finds no difference. A figure of 0 on one side distinguishes them without a test.
fn is_tied(network: &GroupSamples, winner: &GroupSamples, beside: ComparedBy) -> bool {
    if network.samples().is_empty() {
        return false;
    }
    let pairs = pair_by_block(network, winner);
    match (beside, PairedRatio::from_pairs(&pairs)) {
        (ComparedBy::Difference, _) => covers_zero(&pairs),
        (ComparedBy::Ratio, Some(ratio)) => ratio.p >= TEST_LEVEL,
        (ComparedBy::Ratio, None) => {
            pairs.iter().all(|(network, winner)| *network > 0.0 && *winner > 0.0)
        }
    }
}

/// Returns `true` if the interval of the mean difference covers 0, or if there is no interval because there is only one
/// block.
fn covers_zero(pairs: &[(f64, f64)]) -> bool {
    let differences: Vec<f64> = pairs.iter().map(|(network, winner)| network - winner).collect();
    mean_interval(&differences, 1.0 - TEST_LEVEL)
        .is_none_or(|[low, high]| low <= 0.0 && 0.0 <= high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::trial_group::BlockSample;

    fn sampled(values: &[f64]) -> GroupSamples {
        let samples = (0..).zip(values).map(|(block, &value)| BlockSample::whole(block, value));
        GroupSamples::Figures(samples.collect())
    }

    #[test]
    fn the_best_and_what_cannot_be_told_from_it() {
        let networks = [
            sampled(&[10.0, 11.0, 12.0, 10.5]),
            sampled(&[10.1, 10.8, 12.2, 10.4]),
            sampled(&[8.0, 8.9, 9.5, 8.3]),
            GroupSamples::Withheld { beyond: 3, needed: 100 },
        ];
        assert_eq!(best_networks(&networks, Metric::Throughput), [true, true, false, false]);
        assert_eq!(best_networks(&networks, Metric::LatencyP50), [false, false, true, false]);
    }

    #[test]
    fn losses_are_told_apart_by_their_difference() {
        let none = sampled(&[0.0, 0.0, 0.0]);
        let hardly = sampled(&[0.0, 0.3, 0.0]);
        let much = sampled(&[2.0, 2.1, 1.9]);
        let networks = [none, hardly, much];
        assert_eq!(best_networks(&networks, Metric::Loss), [true, true, false]);
    }

    #[test]
    fn alone_is_not_best() {
        assert_eq!(best_networks(&[sampled(&[1.0, 2.0])], Metric::Throughput), [false]);
        let withheld = GroupSamples::Withheld { beyond: 3, needed: 100 };
        assert_eq!(
            best_networks(&[sampled(&[1.0, 2.0]), withheld], Metric::Throughput),
            [false, false]
        );
        assert_eq!(best_networks(&[], Metric::Throughput), Vec::<bool>::new());
    }

    #[test]
    fn one_block_tells_nothing_and_zero_tells_all() {
        assert_eq!(
            best_networks(&[sampled(&[1.0]), sampled(&[5.0])], Metric::Throughput),
            [true, true]
        );
        let dead = sampled(&[0.0, 0.0]);
        assert_eq!(best_networks(&[sampled(&[1.0, 1.1]), dead], Metric::Throughput), [true, false]);
    }
}
