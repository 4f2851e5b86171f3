//! Which networks are the best, ties included.

use crate::group::Sampled;
use crate::pair::in_same_blocks;
use crate::verdict::LEVEL;
use tare_record::{Beside, Better, Metric};
use tare_stats::PairedRatio;
use tare_stats::describe::{mean, mean_interval};

/// For each network whether it has the best mean, or cannot be told apart from the one that has: a paired test at
/// two-sided 5 %, not corrected for the number of networks, because here a tie is the careful answer. A network alone
/// is not the best of anything.
pub(crate) fn best(sampled: &[Sampled], metric: Metric) -> Vec<bool> {
    let means: Vec<Option<f64>> = sampled.iter().map(level).collect();
    let measured = || means.iter().enumerate().filter_map(|(index, mean)| Some((index, (*mean)?)));
    let winner = match metric.better() {
        Better::Higher => measured().max_by(|one, other| one.1.total_cmp(&other.1)),
        Better::Lower => measured().min_by(|one, other| one.1.total_cmp(&other.1)),
    };
    match winner {
        Some((winner, _)) if measured().count() > 1 => (0..sampled.len())
            .map(|index| {
                index == winner || tied(&sampled[index], &sampled[winner], metric.beside())
            })
            .collect(),
        _ => vec![false; sampled.len()],
    }
}

/// The mean of a network's figures.
fn level(sampled: &Sampled) -> Option<f64> {
    mean(&sampled.samples().iter().map(|sample| sample.value).collect::<Vec<_>>())
}

/// Whether nothing tells a network from the best one: too few common blocks do not, and neither does a test that
/// finds nothing. A figure of zero beside others tells them apart without a test.
fn tied(network: &Sampled, winner: &Sampled, beside: Beside) -> bool {
    if network.samples().is_empty() {
        return false;
    }
    let pairs = in_same_blocks(network, winner);
    match (beside, PairedRatio::of(&pairs)) {
        (Beside::Difference, _) => covers_nought(&pairs),
        (Beside::Ratio, Some(ratio)) => ratio.p >= LEVEL,
        (Beside::Ratio, None) => {
            pairs.iter().all(|(network, winner)| *network > 0.0 && *winner > 0.0)
        }
    }
}

/// Whether the interval of the mean difference covers nought; one block alone has none, and tells nothing.
fn covers_nought(pairs: &[(f64, f64)]) -> bool {
    let differences: Vec<f64> = pairs.iter().map(|(network, winner)| network - winner).collect();
    mean_interval(&differences, 1.0 - LEVEL).is_none_or(|[low, high]| low <= 0.0 && 0.0 <= high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Sample;

    fn sampled(values: &[f64]) -> Sampled {
        let samples =
            (0..).zip(values).map(|(block, &value)| Sample { block, value, uncut: value });
        Sampled::Figures(samples.collect())
    }

    #[test]
    fn the_best_and_what_cannot_be_told_from_it() {
        let networks = [
            sampled(&[10.0, 11.0, 12.0, 10.5]),
            sampled(&[10.1, 10.8, 12.2, 10.4]),
            sampled(&[8.0, 8.9, 9.5, 8.3]),
            Sampled::Withheld { beyond: 3 },
        ];
        assert_eq!(best(&networks, Metric::Throughput), [true, true, false, false]);
        assert_eq!(best(&networks, Metric::LatencyP50), [false, false, true, false]);
    }

    #[test]
    fn losses_are_told_apart_by_their_difference() {
        let none = sampled(&[0.0, 0.0, 0.0]);
        let hardly = sampled(&[0.0, 0.3, 0.0]);
        let much = sampled(&[2.0, 2.1, 1.9]);
        let networks = [none, hardly, much];
        assert_eq!(best(&networks, Metric::Loss), [true, true, false]);
    }

    #[test]
    fn alone_is_not_best() {
        assert_eq!(best(&[sampled(&[1.0, 2.0])], Metric::Throughput), [false]);
        let withheld = Sampled::Withheld { beyond: 3 };
        assert_eq!(best(&[sampled(&[1.0, 2.0]), withheld], Metric::Throughput), [false, false]);
        assert_eq!(best(&[], Metric::Throughput), Vec::<bool>::new());
    }

    #[test]
    fn one_block_tells_nothing_and_zero_tells_all() {
        assert_eq!(best(&[sampled(&[1.0]), sampled(&[5.0])], Metric::Throughput), [true, true]);
        let dead = sampled(&[0.0, 0.0]);
        assert_eq!(best(&[sampled(&[1.0, 1.1]), dead], Metric::Throughput), [true, false]);
    }
}
