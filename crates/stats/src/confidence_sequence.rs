//! Confidence sequences: intervals that hold at every number of blocks at once, so that a run may be looked at after
//! each block and stopped at any time.
//!
//! An interval of fixed n that is looked at after every block until it pleases errs far more often than it says. A
//! confidence sequence pays for the looks by its width, about 1.7 times at 30 blocks. This sequence is for a mean with
//! an unknown spread: the mixture of t likelihood ratios over effect sizes from a standard normal distribution, with
//! the right Haar prior on the spread (T. L. Lai, "On confidence sequences", Annals of Statistics 4, 1976; H. Wang and
//! A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", Sequential
//! Analysis 44, 2025).

use crate::describe::{mean, sd};

/// Weight of the prior, in values: 1 (a unit-information prior). A larger weight makes the interval narrower late and
/// wider early.
const PRIOR_WEIGHT: f64 = 1.0;

/// Returns the half width of a confidence sequence after these values, with this confidence (0–1, both excluded) over
/// all numbers of values together. It is infinite while there are too few values. Returns `None` for fewer than two.
#[must_use]
pub fn half_width(values: &[f64], confidence: f64) -> Option<f64> {
    let n = values.len() as f64;
    // Standard deviation with divisor n.
    let spread = sd(values)? * ((n - 1.0) / n).sqrt();
    let limit = ((n + PRIOR_WEIGHT) / PRIOR_WEIGHT).sqrt() / (1.0 - confidence);
    let part = 1.0 - limit.powf(-2.0 / n);
    let room = n / (n + PRIOR_WEIGHT) - part;
    Some(if spread == 0.0 {
        0.0
    } else if room <= 0.0 {
        f64::INFINITY
    } else {
        spread * (part / room).sqrt()
    })
}

/// Returns the interval of a confidence sequence of the mean after these values. Returns `None` for fewer than two
/// values, or while the interval is infinite.
#[must_use]
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let (mean, half) = (mean(values)?, half_width(values, confidence)?);
    half.is_finite().then_some([mean - half, mean + half])
}

/// Returns the p-value of a mean of zero that stays valid however often one looks: the smallest p-value after any of
/// the values so far.
#[must_use]
pub fn p_of_zero(values: &[f64]) -> f64 {
    let (mut sum, mut squares, mut most) = (0.0, 0.0, 0.0f64);
    for (index, value) in values.iter().enumerate() {
        sum += value;
        squares += value * value;
        let n = (index + 1) as f64;
        // Logarithms, because the ratio of many blocks without spread overflows.
        let explained = if squares == 0.0 { 0.0 } else { sum * sum / squares / (n + PRIOR_WEIGHT) };
        let ratio =
            -(n / 2.0) * (-explained).ln_1p() + 0.5 * (PRIOR_WEIGHT / (n + PRIOR_WEIGHT)).ln();
        most = most.max(ratio);
    }
    (-most).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    /// Computes the likelihood ratio after these values, as the source writes it.
    fn ratio_by_definition(values: &[f64]) -> f64 {
        let n = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        let whole = (n + PRIOR_WEIGHT) * squares;
        (PRIOR_WEIGHT / (n + PRIOR_WEIGHT)).sqrt() * (whole / (whole - sum * sum)).powf(n / 2.0)
    }

    #[test]
    fn at_the_end_of_the_interval_the_likelihood_ratio_is_the_limit() {
        let values = Noise::seeded(1976).white(25);
        let [low, high] = mean_interval(&values, 0.95).unwrap();
        for end in [low, high] {
            let moved: Vec<f64> = values.iter().map(|value| value - end).collect();
            assert!((ratio_by_definition(&moved) - 20.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_p_value_is_the_smallest_so_far() {
        let values = Noise::seeded(7).white(12);
        let smallest = (1..=values.len())
            .map(|n| 1.0 / ratio_by_definition(&values[..n]))
            .fold(1.0f64, f64::min);
        assert!((p_of_zero(&values) - smallest).abs() < 1e-9);
        assert_eq!(p_of_zero(&[]), 1.0);
        assert_eq!(p_of_zero(&[0.0, 0.0]), 1.0);
        assert!(p_of_zero(&[1.0; 60]) < 1e-9);
    }

    /// Simulates the share of runs in which the interval of this method misses the mean at any of 5 to 100 values.
    fn missed(interval: impl Fn(&[f64]) -> Option<[f64; 2]>) -> f64 {
        let mut noise = Noise::seeded(2025);
        let runs = 2_000;
        let wrong = (0..runs)
            .filter(|_| {
                let values = noise.white(100);
                (5..=100).any(|n| {
                    interval(&values[..n]).is_some_and(|[low, high]| low > 0.0 || high < 0.0)
                })
            })
            .count();
        wrong as f64 / f64::from(runs)
    }

    #[test]
    fn looking_after_every_block_errs_in_five_runs_of_a_hundred_at_most() {
        let share = missed(|values| mean_interval(values, 0.95));
        assert!(share <= 0.05, "{share}");
        // The interval of a fixed number of blocks does not keep its error rate.
        let share = missed(|values| crate::describe::mean_interval(values, 0.95));
        assert!(share > 0.20, "{share}");
    }

    #[test]
    fn the_price_is_two_thirds_more_width_at_thirty() {
        let values = Noise::seeded(3).white(30);
        let [low, high] = crate::describe::mean_interval(&values, 0.95).unwrap();
        let share = half_width(&values, 0.95).unwrap() / ((high - low) / 2.0);
        assert!((1.5..=1.8).contains(&share), "{share}");
        assert_eq!(half_width(&[1.0, 2.0], 0.95), Some(f64::INFINITY));
        assert_eq!(mean_interval(&[1.0, 2.0], 0.95), None);
        assert_eq!(half_width(&[1.0], 0.95), None);
    }

    proptest! {
        #[test]
        fn a_unit_and_a_shift_change_nothing(
            values in prop::collection::vec(-10.0f64..10.0, 6..40),
            unit in 0.1f64..10.0,
            shift in -10.0f64..10.0,
        ) {
            let moved: Vec<f64> = values.iter().map(|value| value * unit + shift).collect();
            let (one, other) = (half_width(&values, 0.95).unwrap(), half_width(&moved, 0.95).unwrap());
            prop_assert!((one * unit - other).abs() <= 1e-6 * (1.0 + other) || one == other);
        }
    }
}
