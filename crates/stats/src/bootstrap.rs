//! Bias-corrected and accelerated (BCa) bootstrap intervals, for statistics without a simple distribution: a median or
//! a percentile over trials.
//!
//! Sources: B. Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82
//! (1987). Resamples of few values spread too little, so the tails are widened after T. C. Hesterberg ("What teachers
//! should know about the bootstrap", The American Statistician 69, 2015). Without the widening, simulated intervals of
//! medians of 8 to 21 values covered the true value in 92 % of cases instead of 95 %. The same sample always gives the
//! same resamples, so the same journal always gives the same document.

use crate::describe::quantile;
use crate::student::StudentT;
use statrs::distribution::{ContinuousCDF, Normal};

/// Number of resamples. With so many, an end of the interval varies by a few hundredths of the interval's width.
const RESAMPLES: usize = 2_000;

/// Smallest sample size that has an interval: the quantiles of a smaller sample rest on too few values.
pub const MIN_VALUES: usize = 8;

/// Returns the interval of a statistic with this confidence (0–1, both excluded). Returns `None` for fewer than
/// [`MIN_VALUES`] values, if a value is not finite, or if the statistic is `None` for the sample or a resample.
#[must_use]
pub fn bca(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    confidence: f64,
) -> Option<[f64; 2]> {
    if values.len() < MIN_VALUES || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let estimate = statistic(values)?;
    let mut draw = IndexResampler::seeded_by_values(values);
    let mut sample = values.to_vec();
    let mut drawn = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        sample.fill_with(|| values[draw.next_index(values.len())]);
        drawn.push(statistic(&sample)?);
    }
    let without: Option<Vec<f64>> = (0..values.len())
        .map(|left_out| {
            let mut rest = values.to_vec();
            rest.remove(left_out);
            statistic(&rest)
        })
        .collect();
    interval(estimate, &drawn, &without?, widened_confidence(values.len(), confidence)?)
}

/// Returns the nominal confidence at which a bootstrap interval of `n` values really covers with `confidence`.
fn widened_confidence(n: usize, confidence: f64) -> Option<f64> {
    let t = StudentT::for_mean(n)?.half_width(confidence) * (n as f64 / (n as f64 - 1.0)).sqrt();
    Some(1.0 - 2.0 * Normal::standard().cdf(-t))
}

/// Computes the interval from the estimate, its values on the resamples (`drawn`), and its values on the sample with
/// one value left out at a time (`without`).
#[must_use]
pub fn interval(
    estimate: f64,
    drawn: &[f64],
    without: &[f64],
    confidence: f64,
) -> Option<[f64; 2]> {
    let normal = Normal::standard();
    let (lowest, highest) = extremes(drawn)?;
    if lowest == highest {
        return Some([lowest, highest]);
    }
    // Values equal to the estimate count half, because a median has many of them.
    let below = drawn.iter().filter(|value| **value < estimate).count();
    let not_above = drawn.iter().filter(|value| **value <= estimate).count();
    let bias = normal.inverse_cdf((below + not_above) as f64 / (2 * drawn.len()) as f64);
    let acceleration = acceleration(without)?;
    let end = |tail: f64| {
        let z = bias + normal.inverse_cdf(tail);
        quantile(drawn, normal.cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = (1.0 - confidence) / 2.0;
    Some([end(tail)?, end(1.0 - tail)?])
}

/// Estimates the acceleration: the change of the estimate's spread with its value (Efron 1987, by the jackknife).
fn acceleration(without: &[f64]) -> Option<f64> {
    let mean = crate::describe::mean(without)?;
    let power = |n: i32| without.iter().map(|value| (mean - value).powi(n)).sum::<f64>();
    let squares = power(2);
    Some(if squares == 0.0 { 0.0 } else { power(3) / (6.0 * squares.powf(1.5)) })
}

fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let lowest = values.iter().copied().min_by(f64::total_cmp)?;
    Some((lowest, values.iter().copied().max_by(f64::total_cmp)?))
}

/// Pseudo-random generator of sample indices (SplitMix64; G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014), seeded by
/// the values of the sample.
struct IndexResampler(u64);

impl IndexResampler {
    fn seeded_by_values(values: &[f64]) -> Self {
        let fold = |seed: u64, value: &f64| splitmix64(seed ^ value.to_bits());
        Self(values.iter().fold(0, fold))
    }

    /// Returns the next index below `n`.
    fn next_index(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // The high half of the product is close enough to uniform for any sample size.
        let wide = u128::from(splitmix64(self.0)) * n as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

fn splitmix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{mean, median};
    use crate::noise::Noise;
    use proptest::prelude::*;

    #[test]
    fn too_little_or_nothing_that_varies() {
        assert_eq!(bca(&[1.0; 7], median, 0.95), None);
        assert_eq!(bca(&[1.0; 8], median, 0.95), Some([1.0, 1.0]));
        assert_eq!(bca(&[f64::NAN; 8], median, 0.95), None);
    }

    #[test]
    fn the_same_sample_gives_the_same_interval() {
        let values = Noise::seeded(1).white(20);
        assert_eq!(bca(&values, median, 0.95), bca(&values, median, 0.95));
    }

    /// Simulates the share of intervals that cover the true value, for samples of `n` values that are `e` to the power
    /// of noise.
    fn coverage(n: usize, runs: u32, statistic: fn(&[f64]) -> Option<f64>, truth: f64) -> f64 {
        let mut noise = Noise::seeded(1987);
        let covered = (0..runs)
            .filter(|_| {
                let values: Vec<f64> = noise.white(n).iter().map(|x| (0.3 * x).exp()).collect();
                let [low, high] = bca(&values, statistic, 0.95).unwrap();
                low <= truth && truth <= high
            })
            .count();
        covered as f64 / f64::from(runs)
    }

    #[test]
    fn the_interval_of_a_median_covers_it_as_often_as_it_says() {
        for n in [10, 21, 30] {
            let share = coverage(n, 2_000, median, 1.0);
            assert!((0.93..=0.97).contains(&share), "{n}: {share}");
        }
    }

    #[test]
    fn so_does_that_of_a_skewed_mean_and_of_an_upper_quartile() {
        let share = coverage(40, 2_000, mean, (0.3f64.powi(2) / 2.0).exp());
        assert!((0.93..=0.97).contains(&share), "{share}");
        let quartile = |values: &[f64]| quantile(values, 0.75);
        let share = coverage(40, 2_000, quartile, (0.3f64 * 0.674_489_75).exp());
        assert!((0.93..=0.97).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn the_interval_lies_within_the_sample_and_holds_its_unit(
            values in prop::collection::vec(1.0f64..100.0, MIN_VALUES..30),
        ) {
            let [low, high] = bca(&values, median, 0.95).unwrap();
            let (least, most) = extremes(&values).unwrap();
            prop_assert!(least <= low && low <= high && high <= most);
        }

        #[test]
        fn every_place_is_within_the_sample(seed: u64, n in 1usize..1000) {
            let mut draw = IndexResampler(seed);
            prop_assert!((0..100).all(|_| draw.next_index(n) < n));
        }
    }
}
