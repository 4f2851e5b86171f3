//! Student's t distribution, the basis of most intervals and tests of this crate.

use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// Student's t distribution with given degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudentT(StudentsT);

impl StudentT {
    /// Creates the distribution with these degrees of freedom. Returns `None` unless they are above zero and finite.
    #[must_use]
    pub fn new(degrees: f64) -> Option<Self> {
        (degrees > 0.0 && degrees.is_finite())
            .then(|| StudentsT::new(0.0, 1.0, degrees).ok())
            .flatten()
            .map(Self)
    }

    /// Creates the distribution of a mean of `n` values with an unknown spread: `n` − 1 degrees of freedom. Returns
    /// `None` for fewer than two values, whose spread is unknown.
    #[must_use]
    pub fn for_mean(n: usize) -> Option<Self> {
        Self::new(n.saturating_sub(1) as f64)
    }

    /// Returns the half width, in standard errors, of a two-sided interval of this confidence (0–1, both excluded).
    #[must_use]
    pub fn half_width(self, confidence: f64) -> f64 {
        self.quantile(0.5 + confidence / 2.0)
    }

    /// Returns the quantile: the value below which this share (0–1, both excluded) of the distribution lies.
    #[must_use]
    pub fn quantile(self, share: f64) -> f64 {
        // The median is 0 by symmetry; the library's inverse is not exact there.
        if share == 0.5 { 0.0 } else { inverse_cdf(&self.0, share) }
    }

    /// Returns the share of the distribution at or below `t`. Returns NaN if `t` is NaN.
    #[must_use]
    pub fn cdf(self, t: f64) -> f64 {
        if t.is_nan() { t } else { self.0.cdf(t) }
    }

    /// Returns the two-sided p-value of a statistic.
    #[must_use]
    pub fn two_sided_p(self, t: f64) -> f64 {
        (2.0 * self.0.sf(t.abs())).min(1.0)
    }
}

/// Returns the value below which this share of a distribution lies: the library's inverse, whose error of up to 10⁻⁵ is
/// removed by a few steps of Newton's method.
pub(crate) fn inverse_cdf<D>(distribution: &D, share: f64) -> f64
where
    D: ContinuousCDF<f64, f64> + Continuous<f64, f64>,
{
    const STEPS: usize = 3;
    let mut at = distribution.inverse_cdf(share);
    for _ in 0..STEPS {
        // From the nearer end: otherwise shares near 1 would lose their last digits.
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

    /// Reference: `scipy.stats.t.ppf` and `2 * scipy.stats.t.sf` of SciPy 1.17.
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
            let t = StudentT::new(degrees).unwrap();
            assert!((t.quantile(share) - expected).abs() < 1e-6, "{degrees} {share}");
            assert!((t.quantile(1.0 - share) + expected).abs() < 1e-6, "{degrees} {share}");
            assert!((t.cdf(expected) - share).abs() < 1e-9, "{degrees} {share}");
            assert!((t.half_width(2.0 * share - 1.0) - expected).abs() < 1e-6);
        }
        let p = [(4.0, 3.0, 0.039_941_968_071_718_83), (9.0, -8.0, 2.213_481_680_94e-5)];
        for (degrees, t, expected) in p {
            let found = StudentT::new(degrees).unwrap().two_sided_p(t);
            assert!((found / expected - 1.0).abs() < 1e-9, "{degrees} {t}: {found}");
        }
    }

    #[test]
    fn a_spread_that_nobody_knows_has_no_distribution() {
        assert!(StudentT::for_mean(0).is_none());
        assert!(StudentT::for_mean(1).is_none());
        assert!(StudentT::new(f64::NAN).is_none());
        assert!(StudentT::new(f64::INFINITY).is_none());
    }
}
