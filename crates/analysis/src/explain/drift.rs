//! Drift of a network's figures from block to block.
//!
//! Blocks are interleaved, so drift cancels in ratios. It does affect means, and how far they can be compared with
//! another run's. The test is the Mann–Kendall trend test (H. B. Mann, "Nonparametric tests against trend",
//! Econometrica 13, 1945), two-sided at 1 % after Holm's correction over the networks of a comparison.

use crate::estimate::trial_group::{BlockSample, GroupSamples};
use tare_record::Finding;
use tare_record::finding::BlockDrift;
use tare_stats::describe::{mean, median};
use tare_stats::holm::holm;
use tare_stats::kendall;

/// Fewest blocks in which a trend is looked for.
const MIN_BLOCKS: usize = 8;
/// Level of the test, strict because there are many cells.
const LEVEL: f64 = 0.01;
/// Smallest reported drift, as a share of the mean.
const MIN_DRIFT: f64 = 0.05;

/// Returns the drift of the figures for each network of a comparison, or `None` for a network without drift.
pub(crate) fn drifts(sampled: &[GroupSamples]) -> Vec<Option<Finding>> {
    let p: Vec<Option<f64>> = sampled.iter().map(|one| p_of_no_trend(one.samples())).collect();
    let tested: Vec<f64> = p.iter().flatten().copied().collect();
    let mut adjusted = holm(&tested).into_iter();
    sampled
        .iter()
        .zip(p)
        .map(|(one, p)| {
            p?;
            let p = adjusted.next().filter(|p| *p < LEVEL)?;
            let change =
                relative_change(one.samples()).filter(|change| change.abs() >= MIN_DRIFT)?;
            Some(Finding::BlockDrift(BlockDrift { change, p }))
        })
        .collect()
}

/// Returns the two-sided p-value of no trend. Returns `None` for fewer than [`MIN_BLOCKS`] blocks.
fn p_of_no_trend(samples: &[BlockSample]) -> Option<f64> {
    if samples.len() < MIN_BLOCKS {
        return None;
    }
    let along = |sign: f64| {
        let pairs: Vec<(f64, f64)> =
            samples.iter().map(|sample| (f64::from(sample.block), sign * sample.value)).collect();
        kendall(&pairs)
    };
    let chance = along(1.0)?.chance.min(along(-1.0)?.chance);
    Some((2.0 * chance).min(1.0))
}

/// Returns the change from the first block to the last over the mean, by the median slope (Sen 1968).
fn relative_change(samples: &[BlockSample]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (index, one) in samples.iter().enumerate() {
        for other in &samples[index + 1..] {
            let blocks = f64::from(other.block) - f64::from(one.block);
            slopes.push((other.value - one.value) / blocks);
        }
    }
    let blocks = f64::from(samples.last()?.block) - f64::from(samples.first()?.block);
    let mean = mean(&samples.iter().map(|sample| sample.value).collect::<Vec<_>>())?;
    let change = median(&slopes)? * blocks / mean;
    change.is_finite().then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::SeededRandom;

    fn sampled(values: impl IntoIterator<Item = f64>) -> GroupSamples {
        let samples = (0..).zip(values).map(|(block, value)| BlockSample::whole(block, value));
        GroupSamples::Figures(samples.collect())
    }

    #[test]
    fn a_drift_is_told_by_its_size() {
        let mut chance = SeededRandom::seeded(1945);
        let falling = sampled(
            (0..20).map(|block| 100.0 - f64::from(block) + chance.normal()).collect::<Vec<_>>(),
        );
        let found = drifts(&[falling]);
        let Some(Finding::BlockDrift(BlockDrift { change, p })) = found[0].clone() else {
            panic!("{found:?}")
        };
        assert!((-0.24..=-0.16).contains(&change) && p < 0.001, "{change} {p}");
    }

    #[test]
    fn what_is_short_small_or_even_does_not_drift() {
        let short = sampled((0..7).map(|block| f64::from(block) + 1.0));
        let small = sampled((0..20).map(|block| 100.0 + f64::from(block) * 0.1));
        let even = sampled([5.0; 20]);
        let withheld = GroupSamples::Withheld { beyond: 3, needed: 100 };
        assert_eq!(drifts(&[short, small, even, withheld]), [None, None, None, None]);
    }

    #[test]
    fn where_nothing_drifts_it_is_said_in_one_comparison_of_a_hundred_at_most() {
        let mut chance = SeededRandom::seeded(1968);
        let runs = 2_000;
        let wrong = (0..runs)
            .filter(|_| {
                let networks: Vec<GroupSamples> = (0..5)
                    .map(|_| sampled((0..20).map(|_| 10.0 + chance.normal()).collect::<Vec<_>>()))
                    .collect();
                drifts(&networks).iter().any(Option::is_some)
            })
            .count();
        let share = wrong as f64 / f64::from(runs);
        assert!(share <= 0.01, "{share}");
    }
}
