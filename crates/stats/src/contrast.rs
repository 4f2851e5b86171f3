//! Difference of the means of two independent samples, with its confidence interval and test.
//!
//! For samples that cannot be paired: sessions, each with its own boot, memory layout and time of day. The variances of
//! the two samples may differ (B. L. Welch, "The generalization of Student's problem when several different population
//! variances are involved", Biometrika 34, 1947; degrees of freedom by Satterthwaite, 1946).

use crate::describe::{mean, sd};
use crate::student::StudentT;

/// Power of the test for which [`Contrast::detectable`] is computed.
const POWER: f64 = 0.80;

/// Difference of two means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Mean of the second sample minus the mean of the first.
    pub value: f64,
    /// Standard error of the difference.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees: f64,
    student: StudentT,
}

impl Contrast {
    /// Computes the mean of `new` minus the mean of `base`. Returns `None` if a sample is empty, if a value is not
    /// finite, or if both samples have a single value.
    ///
    /// The variance of a sample of one value is unknown: it is assumed to equal the variance of the other sample.
    #[must_use]
    pub fn from_samples(base: &[f64], new: &[f64]) -> Option<Self> {
        if !base.iter().chain(new).all(|value| value.is_finite()) {
            return None;
        }
        let value = mean(new)? - mean(base)?;
        let (error, degrees) = match (sample_variance(base), sample_variance(new)) {
            (Some(one), Some(two)) => welch_error(one, two),
            (Some(known), None) | (None, Some(known)) => {
                (known.variance * (1.0 + 1.0 / known.n), known.n - 1.0)
            }
            (None, None) => return None,
        };
        let student = StudentT::new(degrees)?;
        Some(Self { value, error: error.sqrt(), degrees, student })
    }

    /// Returns the two-sided interval with this confidence (0–1, both excluded).
    #[must_use]
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let half = self.student.half_width(confidence) * self.error;
        [self.value - half, self.value + half]
    }

    /// Returns the one-sided lower bound of the difference with this confidence (0–1, both excluded).
    #[must_use]
    pub fn lower(&self, confidence: f64) -> f64 {
        self.value - self.student.quantile(confidence) * self.error
    }

    /// Returns the one-sided upper bound of the difference with this confidence (0–1, both excluded).
    #[must_use]
    pub fn upper(&self, confidence: f64) -> f64 {
        self.value + self.student.quantile(confidence) * self.error
    }

    /// Returns the two-sided p-value of no difference. If the standard error is 0, it is 1 for a difference of 0, and 0
    /// for any other.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.value == 0.0 {
            1.0
        } else if self.error == 0.0 {
            0.0
        } else {
            self.student.two_sided_p(self.value / self.error)
        }
    }

    /// Returns the distance beyond a limit at which a difference's bound of this confidence clears the limit in about
    /// 80 % of such comparisons.
    #[must_use]
    pub fn detectable(&self, confidence: f64) -> f64 {
        (self.student.quantile(confidence) + self.student.quantile(POWER)) * self.error
    }
}

/// Variance and size of a sample.
struct SampleVariance {
    variance: f64,
    n: f64,
}

fn sample_variance(values: &[f64]) -> Option<SampleVariance> {
    Some(SampleVariance { variance: sd(values)?.powi(2), n: values.len() as f64 })
}

/// Returns the squared standard error and its degrees of freedom. If both variances are 0, the degrees of freedom are
/// those of equal variances.
fn welch_error(one: SampleVariance, two: SampleVariance) -> (f64, f64) {
    let (a, b) = (one.variance / one.n, two.variance / two.n);
    if a + b == 0.0 {
        return (0.0, one.n + two.n - 2.0);
    }
    let degrees = (a + b).powi(2) / (a * a / (one.n - 1.0) + b * b / (two.n - 1.0));
    (a + b, degrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    #[test]
    fn without_spread_nothing_is_left_to_chance() {
        let same = Contrast::from_samples(&[2.0, 2.0], &[2.0, 2.0, 2.0]).unwrap();
        assert_eq!((same.value, same.p(), same.interval(0.95)), (0.0, 1.0, [0.0, 0.0]));
        let other = Contrast::from_samples(&[2.0, 2.0], &[3.0, 3.0]).unwrap();
        assert_eq!((other.value, other.p()), (1.0, 0.0));
    }

    #[test]
    fn one_value_borrows_the_others_spread() {
        let contrast = Contrast::from_samples(&[1.0, 2.0, 3.0], &[5.0]).unwrap();
        // The spread is 1, of three values and of one: √(1 + 1/3), with two degrees of freedom.
        assert!((contrast.error - (4f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((contrast.degrees - 2.0).abs() < 1e-12);
        assert_eq!(Contrast::from_samples(&[1.0], &[2.0]), None);
        assert_eq!(Contrast::from_samples(&[], &[2.0, 3.0]), None);
        assert_eq!(Contrast::from_samples(&[1.0, f64::NAN], &[2.0, 3.0]), None);
    }

    /// Simulates the share of 95 % intervals that cover the true difference of 1, for samples of these sizes and
    /// spreads.
    fn coverage(n: [usize; 2], spread: [f64; 2]) -> f64 {
        let mut noise = Noise::seeded(1947);
        let runs = 4_000;
        let covered = (0..runs)
            .filter(|_| {
                let base: Vec<f64> = noise.white(n[0]).iter().map(|x| x * spread[0]).collect();
                let new: Vec<f64> = noise.white(n[1]).iter().map(|x| 1.0 + x * spread[1]).collect();
                let [low, high] = Contrast::from_samples(&base, &new).unwrap().interval(0.95);
                low <= 1.0 && 1.0 <= high
            })
            .count();
        covered as f64 / f64::from(runs)
    }

    #[test]
    fn the_interval_covers_the_difference_as_often_as_it_says() {
        for (n, spread) in [([3, 3], [1.0, 1.0]), ([5, 10], [2.0, 1.0]), ([10, 10], [1.0, 5.0])] {
            let share = coverage(n, spread);
            assert!((0.935..=0.985).contains(&share), "{n:?} {spread:?}: {share}");
        }
        // One session against five, with the same spread.
        let share = coverage([1, 5], [1.0, 1.0]);
        assert!((0.94..=0.96).contains(&share), "{share}");
    }

    #[test]
    fn what_is_said_to_be_detectable_is_found_in_four_runs_of_five() {
        let mut noise = Noise::seeded(5);
        let (n, runs, limit) = (6, 3_000, 0.05);
        // The average standard error of samples of this size.
        let error = (2.0 / n as f64).sqrt() * 0.02;
        let student = StudentT::new(10.0).unwrap();
        let beyond = (student.quantile(0.95) + student.quantile(0.80)) * error;
        let found = (0..runs)
            .filter(|_| {
                let base: Vec<f64> = noise.white(n).iter().map(|x| x * 0.02).collect();
                let new: Vec<f64> =
                    noise.white(n).iter().map(|x| limit + beyond + x * 0.02).collect();
                Contrast::from_samples(&base, &new).unwrap().lower(0.95) > limit
            })
            .count();
        let share = found as f64 / f64::from(runs);
        assert!((0.76..=0.85).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn swapping_the_sides_mirrors_everything(
            base in prop::collection::vec(-10.0f64..10.0, 2..8),
            new in prop::collection::vec(-10.0f64..10.0, 2..8),
        ) {
            let (one, other) =
                (Contrast::from_samples(&base, &new).unwrap(), Contrast::from_samples(&new, &base).unwrap());
            prop_assert!((one.value + other.value).abs() < 1e-9);
            prop_assert!((one.lower(0.95) + other.upper(0.95)).abs() < 1e-9);
            prop_assert!((one.p() - other.p()).abs() < 1e-9);
        }
    }
}
