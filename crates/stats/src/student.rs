//! Student's t distribution, on which every interval and test of this crate rests.

use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// Student's t with some degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Student(StudentsT);

impl Student {
    /// The distribution with these degrees of freedom; nothing unless they are above zero and finite.
    #[must_use]
    pub fn new(degrees: f64) -> Option<Self> {
        (degrees > 0.0 && degrees.is_finite())
            .then(|| StudentsT::new(0.0, 1.0, degrees).ok())
            .flatten()
            .map(Self)
    }

    /// The distribution of a mean of `n` values with an unknown spread: `n` − 1 degrees of freedom. Nothing for
    /// fewer than two values, whose spread nobody knows.
    #[must_use]
    pub fn of_mean(n: usize) -> Option<Self> {
        Self::new(n.saturating_sub(1) as f64)
    }

    /// The half width, in standard errors, of a two-sided interval of this confidence (0–1, both excluded).
    #[must_use]
    pub fn half_width(self, confidence: f64) -> f64 {
        self.quantile(0.5 + confidence / 2.0)
    }

    /// The value below which this share (0–1, both excluded) of the distribution lies.
    #[must_use]
    pub fn quantile(self, share: f64) -> f64 {
        // The median is 0 by symmetry; the library's inverse is not exact there.
        if share == 0.5 { 0.0 } else { inverse(&self.0, share) }
    }

    /// The share of the distribution at or below `t`; not a number where `t` is none.
    #[must_use]
    pub fn below(self, t: f64) -> f64 {
        if t.is_nan() { t } else { self.0.cdf(t) }
    }

    /// The two-sided p-value of a statistic.
    #[must_use]
    pub fn p(self, t: f64) -> f64 {
        (2.0 * self.0.sf(t.abs())).min(1.0)
    }
}

/// The value below which this share of a distribution lies: the library's, whose error of up to 10⁻⁵ a few of Newton's steps
/// take off.
pub(crate) fn inverse<D>(distribution: &D, share: f64) -> f64
where
    D: ContinuousCDF<f64, f64> + Continuous<f64, f64>,
{
    const STEPS: usize = 3;
    let mut at = distribution.inverse_cdf(share);
    for _ in 0..STEPS {
        // From the nearer end, or shares near 1 would lose their last digits.
        let off = if share > 0.5 {
            (1.0 - share) - distribution.sf(at)
        } else {
            distribution.cdf(at) - share
        };
        let next = at - off / distribution.pdf(at);
        if !next.is_finite() {
            break;
        }
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference figures from scipy 1.17, `scipy.stats.t.ppf` and `2 * scipy.stats.t.sf`.
    #[test]
    fn quantiles_and_p_values_are_those_of_the_tables() {
        let quantiles = [
            (1.0, 0.975, 12.706_204_736_174_694),
            (1.0, 0.95, 6.313_751_514_675_037),
            (4.0, 0.975, 2.776_445_105_197_793),
            (9.0, 0.95, 1.833_112_932_656_237),
            (18.0, 0.9, 1.330_390_943_569_91),
            (100.0, 0.975, 1.983_971_518_523_552),
            (5000.0, 0.975, 1.960_438_551_706_507),
        ];
        for (degrees, share, expected) in quantiles {
            let t = Student::new(degrees).unwrap();
            assert!((t.quantile(share) - expected).abs() < 1e-6, "{degrees} {share}");
            assert!((t.quantile(1.0 - share) + expected).abs() < 1e-6, "{degrees} {share}");
            assert!((t.below(expected) - share).abs() < 1e-9, "{degrees} {share}");
            assert!((t.half_width(2.0 * share - 1.0) - expected).abs() < 1e-6);
        }
        let p = [(4.0, 3.0, 0.039_941_968_071_718_83), (9.0, -8.0, 2.213_481_680_94e-5)];
        for (degrees, t, expected) in p {
            let found = Student::new(degrees).unwrap().p(t);
            assert!((found / expected - 1.0).abs() < 1e-9, "{degrees} {t}: {found}");
        }
    }

    #[test]
    fn a_spread_that_nobody_knows_has_no_distribution() {
        assert!(Student::of_mean(0).is_none());
        assert!(Student::of_mean(1).is_none());
        assert!(Student::new(f64::NAN).is_none());
        assert!(Student::new(f64::INFINITY).is_none());
    }
}
