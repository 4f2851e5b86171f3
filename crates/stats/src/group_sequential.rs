//! Group-sequential boundaries: levels at which a few planned interim analyses of growing data may each be tested, so
//! that all of them together err as often as promised.
//!
//! The error is spent as the information grows, after the function of K. K. G. Lan and D. L. DeMets ("Discrete
//! sequential boundaries for clinical trials", Biometrika 70, 1983) that is like the boundary of O'Brien and Fleming:
//! almost nothing early, almost everything at the end. The moments of the analyses need not be known in advance, as
//! long as no result determines them. The boundary is computed for normal means by the recursion of Armitage, McPherson
//! and Rowe (1969); its levels are then used with Student's t (C. Jennison and B. W. Turnbull, *Group Sequential Methods
//! with Applications to Clinical Trials*, 1999, section 3.8 for t, chapter 9 for repeated confidence intervals).

use crate::quadrature::GaussLegendre;
use crate::student::inverse_cdf;
use statrs::distribution::{ContinuousCDF as _, Normal};
use std::sync::LazyLock;

/// Analysis of the data so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analysis {
    /// Number of values in the mean; grows from analysis to analysis.
    pub values: u32,
    /// Share of the run's planned information that is there, 0 to 1; grows from analysis to analysis. At 1 all of the
    /// error is spent.
    pub information: f64,
}

/// Points of a density between zero and the boundary: enough for boundaries to the digits of the literature, whose tables
/// the tests compare.
const POINTS: usize = 48;

/// Distance from zero beyond which a density is zero, in standard deviations.
const FARTHEST: f64 = 9.0;

/// Most steps of a search for a root.
const STEPS: u32 = 40;

/// Relative precision of a p-value, and of the probability beyond a boundary, on which p-values rest.
const PRECISION: f64 = 1e-7;
const BOUNDARY_PRECISION: f64 = 1e-12;

/// p-value below which earlier analyses, which spend far less, are left out.
const NEGLIGIBLE: f64 = 1e-9;

static QUADRATURE: LazyLock<GaussLegendre> = LazyLock::new(|| GaussLegendre::new(POINTS));

/// Returns the two-sided level of the last of these analyses, if all of them together may err with probability `alpha`
/// (0–1, both excluded). Returns `alpha` itself if there is only one, at full information.
#[must_use]
pub fn nominal_level(analyses: &[Analysis], alpha: f64) -> f64 {
    let mut density = Density::start();
    let mut spent = 0.0;
    let mut level = 0.0;
    for (index, analysis) in analyses.iter().enumerate() {
        let values = f64::from(analysis.values);
        let spent_now = spent_error(alpha, analysis.information);
        let boundary = density.boundary(values, (spent_now - spent).max(0.0));
        spent = spent_now.max(spent);
        level = 2.0 * upper_tail(boundary);
        if index + 1 < analyses.len() {
            density = density.advance(values, boundary);
        }
    }
    level
}

/// Returns the p-value over all of these analyses, if the last one has the two-sided p-value `p`: the smallest
/// probability of error over all of them at which the last one rejects. Returns `p` itself if there is only one, at
/// full information.
#[must_use]
pub fn overall_p(analyses: &[Analysis], p: f64) -> f64 {
    let Some(last) = analyses.last() else { return p };
    if p <= NEGLIGIBLE {
        // Earlier analyses have spent next to nothing, so the spending function alone is inverted.
        let z = quantile_above(p / 4.0) * last.information.clamp(0.0, 1.0).sqrt();
        return if p <= 0.0 { 0.0 } else { 4.0 * upper_tail(z) };
    }
    if p >= 1.0 || analyses.len() == 1 && last.information >= 1.0 {
        return p.min(1.0);
    }
    // The level of the last analysis grows with alpha, nearly as a power of it, and alpha is never smaller than p.
    let goal = p.ln();
    let excess = |log_alpha: f64| {
        nominal_level(analyses, log_alpha.exp()).max(f64::MIN_POSITIVE).ln() - goal
    };
    find_root(excess, [goal, 0.0], PRECISION).exp()
}

/// Returns the root of a growing function between two ends, at which it is 0 to this precision, by regula falsi with the
/// Illinois rule. Returns the nearer end if the root lies beyond it.
fn find_root(function: impl Fn(f64) -> f64, [low, high]: [f64; 2], precision: f64) -> f64 {
    let (mut low, mut below) = (low, function(low));
    let (mut high, mut above) = (high, function(high));
    if below >= 0.0 {
        return low;
    }
    if above <= 0.0 {
        return high;
    }
    let mut moved_low = None;
    for _ in 0..STEPS {
        let at = low + (high - low) * below / (below - above);
        let value = function(at);
        if value.abs() < precision {
            return at;
        }
        let moves_low = value < 0.0;
        // An end that stays twice is given half its weight: otherwise it would stay for ever.
        let weight = if moved_low == Some(moves_low) { 0.5 } else { 1.0 };
        if moves_low {
            (low, below, above) = (at, value, above * weight);
        } else {
            (high, above, below) = (at, value, below * weight);
        }
        moved_low = Some(moves_low);
    }
    f64::midpoint(low, high)
}

/// Returns the probability of error that is spent until a share of the information is there, on both sides together.
/// Lan and DeMets state their function for one side.
fn spent_error(alpha: f64, information: f64) -> f64 {
    if information >= 1.0 {
        return alpha;
    }
    4.0 * upper_tail(quantile_above(alpha / 4.0) / information.max(f64::MIN_POSITIVE).sqrt())
}

/// Density of a sum of independent standard normal values that has not crossed any boundary, on its positive half.
struct Density {
    /// Number of values in the sum.
    values: f64,
    /// Places and weights of the density's points: the integral is the sum of the weights. Empty before the first
    /// analysis, when the sum is 0.
    points: Vec<(f64, f64)>,
}

impl Density {
    fn start() -> Self {
        Self { values: 0.0, points: Vec::new() }
    }

    /// Returns the boundary of the standardised sum at so many values that is crossed on either side with this
    /// probability.
    fn boundary(&self, values: f64, crossed: f64) -> f64 {
        if self.points.is_empty() {
            return quantile_above(crossed / 2.0);
        }
        // Its logarithm falls nearly as a parabola.
        let goal = crossed.max(f64::MIN_POSITIVE).ln();
        let missing = |at: f64| goal - self.crossing(values, at).max(f64::MIN_POSITIVE).ln();
        find_root(missing, [0.0, FARTHEST], BOUNDARY_PRECISION)
    }

    /// Returns the probability that the sum of so many values lies beyond a boundary of the standardised sum.
    fn crossing(&self, values: f64, boundary: f64) -> f64 {
        let (edge, step) = (boundary * values.sqrt(), self.step(values));
        let beyond = |at: f64| upper_tail((edge - at) / step) + upper_tail((edge + at) / step);
        // Both halves of the density cross alike.
        2.0 * self.points.iter().map(|&(at, weight)| weight * beyond(at)).sum::<f64>()
    }

    /// Returns the density at so many values of what has not crossed this boundary either.
    fn advance(&self, values: f64, boundary: f64) -> Self {
        let step = self.step(values);
        let edge = boundary.min(FARTHEST) * values.sqrt();
        let density = |at: f64| {
            if self.points.is_empty() {
                return bell(at / step) / step;
            }
            let from = |&(before, weight): &(f64, f64)| {
                weight * (bell((at - before) / step) + bell((at + before) / step)) / step
            };
            self.points.iter().map(from).sum()
        };
        let points = QUADRATURE.over(0.0, edge).map(|(at, weight)| (at, weight * density(at)));
        Self { values, points: points.collect() }
    }

    /// Returns the standard deviation of the values that come until there are so many.
    fn step(&self, values: f64) -> f64 {
        (values - self.values).max(f64::MIN_POSITIVE).sqrt()
    }
}

/// Returns the density of the standard normal distribution.
fn bell(z: f64) -> f64 {
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Returns the probability that a standard normal value lies above this one.
fn upper_tail(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// Returns the value above which a standard normal value lies with this probability.
fn quantile_above(share: f64) -> f64 {
    if share <= 0.0 { f64::INFINITY } else { -inverse_cdf(&Normal::standard(), share) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::student::StudentT;
    use proptest::prelude::*;

    /// Returns equally spaced analyses of so many values each, up to full information.
    fn equally_spaced(count: u32, each: u32) -> Vec<Analysis> {
        (1..=count)
            .map(|nth| Analysis {
                values: nth * each,
                information: f64::from(nth) / f64::from(count),
            })
            .collect()
    }

    fn boundaries(analyses: &[Analysis], alpha: f64) -> Vec<f64> {
        (1..=analyses.len())
            .map(|count| quantile_above(nominal_level(&analyses[..count], alpha) / 2.0))
            .collect()
    }

    /// Reference: Jennison and Turnbull, and the programs `ldbounds` and `gsDesign` of R (`sfLDOF`, two-sided 5 %).
    #[test]
    fn the_boundaries_are_those_of_the_literature() {
        for (count, expected) in [
            (2, vec![2.963, 1.969]),
            (4, vec![4.333, 2.963, 2.359, 2.014]),
            (5, vec![4.877, 3.357, 2.680, 2.290, 2.031]),
        ] {
            let found = boundaries(&equally_spaced(count, 7), 0.05);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 6e-4, "{count}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_single_analysis_is_the_plain_test() {
        let only = equally_spaced(1, 9);
        for p in [1e-12, 0.003, 0.05, 0.4, 1.0] {
            assert!((overall_p(&only, p) - p).abs() <= 1e-9 * p, "{p}");
        }
        assert!((nominal_level(&only, 0.05) - 0.05).abs() < 1e-9);
        assert_eq!(overall_p(&only, 0.0), 0.0);
    }

    #[test]
    fn the_p_value_at_a_boundary_is_the_error_of_the_boundary() {
        let analyses = equally_spaced(4, 3);
        for count in 2..=4 {
            for alpha in [0.3, 0.05, 0.001] {
                let level = nominal_level(&analyses[..count], alpha);
                let p = overall_p(&analyses[..count], level);
                assert!((p / alpha - 1.0).abs() < 1e-3, "{count} {alpha}: {p}");
            }
        }
        // On either side of the limit below which earlier analyses are left out.
        let near = [0.99e-9, 1.01e-9].map(|p| overall_p(&analyses[..3], p));
        assert!((near[1] / near[0] - 1.0).abs() < 0.05, "{near:?}");
    }

    #[test]
    fn under_students_t_all_analyses_together_err_as_often_as_promised() {
        for (analyses, seed) in [
            ([(5, 0.63), (6, 0.75), (7, 0.88), (8, 1.0)], 1),
            ([(5, 0.4), (8, 0.6), (10, 0.8), (13, 1.0)], 2),
            ([(12, 0.4), (18, 0.6), (24, 0.8), (30, 1.0)], 3),
        ] {
            let analyses = analyses.map(|(values, information)| Analysis { values, information });
            let levels: Vec<f64> =
                (1..=4).map(|count| nominal_level(&analyses[..count], 0.05)).collect();
            let mut noise = Noise::seeded(seed);
            let runs = 20_000;
            let crosses = |values: &[f64]| {
                analyses.iter().zip(&levels).any(|(analysis, &level)| {
                    let so_far = &values[..analysis.values as usize];
                    let mean = crate::describe::mean(so_far).unwrap();
                    let error = crate::describe::sd(so_far).unwrap() / (so_far.len() as f64).sqrt();
                    StudentT::for_mean(so_far.len()).unwrap().two_sided_p(mean / error) < level
                })
            };
            let most = analyses[3].values as usize;
            let crossed = (0..runs).filter(|_| crosses(&noise.white(most))).count();
            let share = crossed as f64 / f64::from(runs);
            assert!((0.045..=0.056).contains(&share), "{analyses:?}: {share}");
        }
    }

    proptest! {
        #[test]
        fn a_level_is_below_alpha_and_grows_with_it(
            shares in prop::collection::vec(0.2f64..0.99, 1..4), alpha in 0.001f64..0.5,
        ) {
            let mut shares = shares;
            shares.sort_by(f64::total_cmp);
            shares.push(1.0);
            let analyses: Vec<Analysis> = (0u32..)
                .zip(&shares)
                .map(|(nth, &information)| Analysis { values: 4 + nth + (20.0 * information) as u32, information })
                .collect();
            let level = nominal_level(&analyses, alpha);
            prop_assert!(level <= alpha * (1.0 + 1e-6) && level >= alpha * 0.3, "{}", level);
            prop_assert!(nominal_level(&analyses, alpha * 1.1) > level);
            prop_assert!(overall_p(&analyses, level) <= alpha * 1.001);
        }
    }
}
