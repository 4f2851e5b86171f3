//! Whether a network's figures drift from block to block.
//!
//! Blocks are interleaved, so drift cancels in ratios; means, and how far they can be compared with another run's, feel it.
//! The test is Mann's and Kendall's of a trend (H. B. Mann, "Nonparametric tests against trend", Econometrica 13, 1945),
//! two-sided at 1 % after Holm's correction over the networks of a comparison.

use crate::group::{Sample, Sampled};
use tare_record::Finding;
use tare_stats::describe::{mean, median};
use tare_stats::holm::holm;
use tare_stats::kendall;

/// The fewest blocks in which a trend is looked for.
const FEWEST: usize = 8;
/// The level of the test: there are many cells.
const LEVEL: f64 = 0.01;
/// A drift by a smaller share of the mean is none worth telling.
const SMALLEST: f64 = 0.05;

/// For each network of a comparison the drift of its figures, where there is one.
pub(crate) fn drifts(sampled: &[Sampled]) -> Vec<Option<Finding>> {
    let p: Vec<Option<f64>> = sampled.iter().map(|one| p_of_none(one.samples())).collect();
    let tested: Vec<f64> = p.iter().flatten().copied().collect();
    let mut adjusted = holm(&tested).into_iter();
    sampled
        .iter()
        .zip(p)
        .map(|(one, p)| {
            p?;
            let p = adjusted.next().filter(|p| *p < LEVEL)?;
            let change = change(one.samples()).filter(|change| change.abs() >= SMALLEST)?;
            Some(Finding::Drift { change, p })
        })
        .collect()
}

/// Two-sided p-value of no trend; nothing below [`FEWEST`] blocks.
fn p_of_none(samples: &[Sample]) -> Option<f64> {
    if samples.len() < FEWEST {
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

/// The change from the first block to the last over the mean, by the median slope (Sen 1968).
fn change(samples: &[Sample]) -> Option<f64> {
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
    use crate::made_up::Chance;

    fn sampled(values: impl IntoIterator<Item = f64>) -> Sampled {
        let samples = (0..).zip(values).map(|(block, value)| Sample { block, value, uncut: value });
        Sampled::Figures(samples.collect())
    }

    #[test]
    fn a_drift_is_told_by_its_size() {
        let mut chance = Chance::seeded(1945);
        let falling = sampled(
            (0..20).map(|block| 100.0 - f64::from(block) + chance.normal()).collect::<Vec<_>>(),
        );
        let found = drifts(&[falling]);
        let Some(Finding::Drift { change, p }) = found[0].clone() else { panic!("{found:?}") };
        assert!((-0.24..=-0.16).contains(&change) && p < 0.001, "{change} {p}");
    }

    #[test]
    fn what_is_short_small_or_even_does_not_drift() {
        let short = sampled((0..7).map(|block| f64::from(block) + 1.0));
        let small = sampled((0..20).map(|block| 100.0 + f64::from(block) * 0.1));
        let even = sampled([5.0; 20]);
        let withheld = Sampled::Withheld { beyond: 3 };
        assert_eq!(drifts(&[short, small, even, withheld]), [None, None, None, None]);
    }

    #[test]
    fn where_nothing_drifts_it_is_said_in_one_comparison_of_a_hundred_at_most() {
        let mut chance = Chance::seeded(1968);
        let runs = 2_000;
        let wrong = (0..runs)
            .filter(|_| {
                let networks: Vec<Sampled> = (0..5)
                    .map(|_| sampled((0..20).map(|_| 10.0 + chance.normal()).collect::<Vec<_>>()))
                    .collect();
                drifts(&networks).iter().any(Option::is_some)
            })
            .count();
        let share = wrong as f64 / f64::from(runs);
        assert!(share <= 0.01, "{share}");
    }
}
