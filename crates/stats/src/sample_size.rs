//! Number of blocks that a question takes, from the spread of the log ratio over blocks.

use crate::student::{StudentT, inverse_cdf};
use statrs::distribution::ChiSquared;

/// Largest answer. The search for a number of blocks ends here, because a million blocks are never run.
pub const MAX_BLOCKS: u32 = 1_000_000;

/// Confidence of [`sd_upper_limit`].
const UPPER_LIMIT_CONFIDENCE: f64 = 0.80;

/// Chance of a verdict for which [`blocks_to_decide`] is computed.
const POWER: f64 = 0.80;

/// Returns the fewest blocks (at least 2, at most [`MAX_BLOCKS`]) for which the 95 % interval of a ratio is expected to
/// reach no further than `half_width` (as a share of 1) above it, if the log ratio spreads by `sd_log` over blocks.
///
/// Solved with Student's t, not with the normal distribution, whose answer is too small for few blocks.
#[must_use]
pub fn blocks_for_half_width(sd_log: f64, half_width: f64) -> u32 {
    let wanted = half_width.ln_1p();
    fewest_blocks(|n, student| student.half_width(0.95) * sd_log / n.sqrt() <= wanted)
}

/// Returns how far the 95 % interval of a ratio is expected to reach above it (as a share of 1) after this many blocks,
/// if the log ratio spreads by `sd_log` over blocks. Returns `None` for fewer than two blocks.
#[must_use]
pub fn expected_half_width(sd_log: f64, blocks: u32) -> Option<f64> {
    let student = StudentT::for_mean(blocks as usize)?;
    Some((student.half_width(0.95) * sd_log / f64::from(blocks).sqrt()).exp_m1())
}

/// Returns about how many blocks (at least 2, at most [`MAX_BLOCKS`]) it takes to reach a verdict in 80 % of runs, if
/// the true ratio is `value` and its logarithm spreads by `sd_log` over blocks: the number after which its 90 %
/// interval lies wholly within the margin, or wholly beyond it.
#[must_use]
pub fn blocks_to_decide(value: f64, sd_log: f64, margin: f64) -> u32 {
    let (centre, margin) = (value.ln().abs(), margin.ln_1p());
    fewest_blocks(|n, student| {
        let error = (sd_log / n.sqrt()).max(f64::MIN_POSITIVE);
        let half = student.half_width(0.90);
        let chance = if centre > margin {
            student.cdf((centre - margin) / error - half)
        } else {
            // The interval may stick out on either of two sides (Schuirmann 1987).
            student.cdf((margin - centre) / error - half)
                + student.cdf((margin + centre) / error - half)
                - 1.0
        };
        chance >= POWER
    })
}

/// Returns the 80 % upper confidence limit of a standard deviation that was estimated with these degrees of freedom,
/// for sizing a run after a short pilot. Half of all pilots underestimate the spread, and a run sized by such a pilot
/// misses its precision; with this limit one in five does (R. H. Browne, "On the use of a pilot sample for sample size
/// determination", Statistics in Medicine 14, 1995). Returns `None` below one degree of freedom.
#[must_use]
pub fn sd_upper_limit(sd: f64, degrees: f64) -> Option<f64> {
    if degrees.is_nan() || degrees < 1.0 {
        return None;
    }
    let chi_squared = ChiSquared::new(degrees).ok()?;
    Some(sd * (degrees / inverse_cdf(&chi_squared, 1.0 - UPPER_LIMIT_CONFIDENCE)).sqrt())
}

/// Finds the fewest blocks that suffice, by bisection: if n blocks suffice, more suffice as well.
fn fewest_blocks(suffices: impl Fn(f64, StudentT) -> bool) -> u32 {
    let suffices = |n: u32| {
        StudentT::for_mean(n as usize).is_some_and(|student| suffices(f64::from(n), student))
    };
    let (mut low, mut high) = (2, MAX_BLOCKS);
    while low < high {
        let middle = low + (high - low) / 2;
        if suffices(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::paired_ratio::PairedRatio;
    use proptest::prelude::*;

    #[test]
    fn the_expected_half_width_is_reached_by_the_blocks_that_it_takes() {
        let blocks = blocks_for_half_width(0.02, 0.01);
        assert!(expected_half_width(0.02, blocks).unwrap() <= 0.01);
        assert!(expected_half_width(0.02, blocks - 1).unwrap() > 0.01);
        assert_eq!(expected_half_width(0.02, 1), None);
    }

    #[test]
    fn a_half_width_of_half_the_margin() {
        // 1.96² · 0.02² / ln(1.01)² = 15.5 by the normal distribution; Student's t takes 18.
        assert_eq!(blocks_for_half_width(0.02, 0.01), 18);
        assert_eq!(blocks_for_half_width(0.0, 0.01), 2);
        assert_eq!(blocks_for_half_width(0.02, 0.0), MAX_BLOCKS);
        assert_eq!(blocks_for_half_width(0.02, f64::NAN), MAX_BLOCKS);
    }

    #[test]
    fn the_fewest_blocks_suffice_and_one_less_does_not() {
        for (sd_log, half_width) in [(0.02, 0.01), (0.05, 0.025), (0.3, 0.1), (0.01, 0.2)] {
            let reach = |n: u32| {
                let student = StudentT::for_mean(n as usize).unwrap();
                (student.half_width(0.95) * sd_log / f64::from(n).sqrt()).exp_m1()
            };
            let n = blocks_for_half_width(sd_log, half_width);
            assert!(reach(n) <= half_width);
            assert!(n == 2 || reach(n - 1) > half_width);
        }
    }

    #[test]
    fn trials_that_spread_by_two_per_cent_need_about_nineteen_blocks_to_be_the_same_within_two() {
        // The ratio of two such trials spreads by √2 · 2 %.
        assert!((19..=20).contains(&blocks_to_decide(1.0, 0.02 * 2f64.sqrt(), 0.02)));
    }

    /// Reference: `sqrt(df / scipy.stats.chi2.ppf(0.2, df))`.
    #[test]
    fn the_upper_limit_of_a_spread_is_that_of_the_tables() {
        for (degrees, expected) in [
            (1.0, 3.947_153_875_543),
            (2.0, 2.116_936_493_55),
            (5.6, 1.420_391_147_129),
            (14.0, 1.216_046_847_728),
            (100.0, 1.066_334_827_599),
        ] {
            let found = sd_upper_limit(2.0, degrees).unwrap();
            assert!((found / 2.0 - expected).abs() < 1e-5, "{degrees}: {found}");
        }
        assert_eq!(sd_upper_limit(1.0, 0.0), None);
        assert_eq!(sd_upper_limit(1.0, f64::NAN), None);
    }

    #[test]
    fn a_pilot_of_three_blocks_leads_to_the_precision_in_four_runs_of_five() {
        let (spread, half_width) = (0.03, 0.01);
        let needed = blocks_for_half_width(spread, half_width);
        let mut noise = Noise::seeded(1995);
        let runs = 4_000;
        let enough = (0..runs)
            .filter(|_| {
                let pilot: Vec<f64> = noise.white(3).iter().map(|value| value * spread).collect();
                let limit = sd_upper_limit(crate::describe::sd(&pilot).unwrap(), 2.0).unwrap();
                blocks_for_half_width(limit, half_width) >= needed
            })
            .count();
        let share = enough as f64 / f64::from(runs);
        assert!((0.78..=0.83).contains(&share), "{share}");
    }

    #[test]
    fn a_ratio_at_the_margin_is_never_decided() {
        assert_eq!(blocks_to_decide(1.02, 0.02, 0.02), MAX_BLOCKS);
        assert_eq!(blocks_to_decide(1.5, 0.0, 0.02), 2);
    }

    #[test]
    fn the_blocks_decide_in_four_runs_of_five() {
        for (value, sd_log, margin) in [(1.0, 0.028, 0.02), (1.01, 0.06, 0.05), (0.85, 0.1, 0.05)] {
            let n = blocks_to_decide(value, sd_log, margin);
            let mut noise = Noise::seeded(u64::from(n));
            let runs = 3_000;
            let decided = (0..runs)
                .filter(|_| {
                    let pairs: Vec<_> = (0..n)
                        .map(|_| ((f64::ln(value) + sd_log * noise.normal()).exp(), 1.0))
                        .collect();
                    let [low, high] = PairedRatio::from_pairs(&pairs).unwrap().ci90;
                    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
                    (least <= low && high <= most) || high < least || low > most
                })
                .count();
            let share = decided as f64 / f64::from(runs);
            assert!((0.76..=0.87).contains(&share), "{value} {n}: {share}");
        }
    }

    proptest! {
        #[test]
        fn more_spread_takes_more_blocks_and_more_margin_fewer(
            sd_log in 0.001f64..0.5, half_width in 0.001f64..0.5, factor in 1.0f64..10.0,
        ) {
            let n = blocks_for_half_width(sd_log, half_width);
            prop_assert!(blocks_for_half_width(sd_log * factor, half_width) >= n);
            prop_assert!(blocks_for_half_width(sd_log, half_width * factor) <= n);
        }

        #[test]
        fn deciding_takes_as_long_from_either_side(
            value in 0.2f64..5.0, sd_log in 0.001f64..0.5, margin in 0.005f64..0.5,
        ) {
            let (one, other) = (
                blocks_to_decide(value, sd_log, margin),
                blocks_to_decide(1.0 / value, sd_log, margin),
            );
            prop_assert!(one.abs_diff(other) <= 1 + one / 1000);
        }
    }
}
