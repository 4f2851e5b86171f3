//! Kendall's rank correlation: agreement of two lists of figures on the order of the same items.

use statrs::function::erf::erfc;
use std::cmp::Ordering;

/// Agreement of two rankings of the same items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankCorrelation {
    /// Kendall's tau-b: 1 for the same order, −1 for the reverse.
    pub tau: f64,
    /// Share of all orders of `n` items that agree at least as well: the one-sided p-value of the agreement. It is
    /// exact for lists without ties; ties are ignored.
    pub chance: f64,
    /// Number of items.
    pub n: u32,
}

/// Largest number of items for which the share is counted exactly. For more, it is taken from the normal distribution.
const MAX_EXACT_ITEMS: usize = 40;

/// Returns Kendall's tau-b of pairs of figures (M. G. Kendall, "The treatment of ties in ranking problems", Biometrika
/// 33, 1945). Returns `None` for fewer than two pairs, if a figure is not finite, or if all figures of one list are
/// equal.
#[must_use]
pub fn kendall(pairs: &[(f64, f64)]) -> Option<RankCorrelation> {
    if pairs.len() < 2 || pairs.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let (mut score, mut untied_x, mut untied_y) = (0i64, 0u64, 0u64);
    for (index, one) in pairs.iter().enumerate() {
        for other in &pairs[index + 1..] {
            let (x, y) = (one.0.total_cmp(&other.0), one.1.total_cmp(&other.1));
            score += sign(x) * sign(y);
            untied_x += u64::from(x != Ordering::Equal);
            untied_y += u64::from(y != Ordering::Equal);
        }
    }
    if untied_x == 0 || untied_y == 0 {
        return None;
    }
    let tau = score as f64 / (untied_x as f64 * untied_y as f64).sqrt();
    let n = u32::try_from(pairs.len()).ok()?;
    Some(RankCorrelation { tau, chance: upper_tail_share(score, pairs.len()), n })
}

fn sign(order: Ordering) -> i64 {
    match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

/// Returns the share of all orders of `n` items whose score (concordant pairs minus discordant pairs) is at least this
/// score.
fn upper_tail_share(score: i64, n: usize) -> f64 {
    let pairs = (n * (n - 1) / 2) as i64;
    if n > MAX_EXACT_ITEMS {
        let n = n as f64;
        let spread = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        return 0.5 * erfc(score as f64 / spread / std::f64::consts::SQRT_2);
    }
    // Distribution of the number of inversions over all orders (MacMahon's numbers), as shares. The item added at place
    // `p` brings 0 to `p − 1` inversions, all equally likely.
    let mut shares = vec![1.0];
    for place in 2..=n {
        let mut next = vec![0.0; shares.len() + place - 1];
        for (at, share) in shares.iter().enumerate() {
            for slot in &mut next[at..at + place] {
                *slot += share / place as f64;
            }
        }
        shares = next;
    }
    // A score of s has (pairs − s) / 2 inversions.
    let most = (pairs - score).div_euclid(2).max(-1);
    shares.iter().take(usize::try_from(most + 1).unwrap_or(0)).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn four_rows_in_the_same_order_are_one_chance_in_twenty_four() {
        let same = kendall(&[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0), (4.0, 40.0)]).unwrap();
        assert_eq!((same.tau, same.n), (1.0, 4));
        close(same.chance, 1.0 / 24.0);
        let one_swap = kendall(&[(1.0, 10.0), (2.0, 30.0), (3.0, 20.0), (4.0, 40.0)]).unwrap();
        close(one_swap.tau, 4.0 / 6.0);
        close(one_swap.chance, 4.0 / 24.0);
        let reversed = kendall(&[(1.0, 2.0), (2.0, 1.0)]).unwrap();
        assert_eq!((reversed.tau, reversed.chance), (-1.0, 1.0));
    }

    #[test]
    fn nothing_can_be_said_of_one_thing_or_of_ties_alone() {
        assert_eq!(kendall(&[(1.0, 1.0)]), None);
        assert_eq!(kendall(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(kendall(&[(1.0, f64::NAN), (1.0, 2.0)]), None);
    }

    #[test]
    fn the_count_and_the_normal_distribution_meet() {
        for score in [-200i64, 0, 100, 230] {
            let counted = upper_tail_share(score, MAX_EXACT_ITEMS);
            let n = MAX_EXACT_ITEMS as f64;
            let spread = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
            let normal = 0.5 * erfc((score as f64 - 1.0) / spread / 2f64.sqrt());
            assert!((counted - normal).abs() < 0.005, "{score}: {counted} {normal}");
        }
    }

    proptest! {
        #[test]
        fn a_growing_scale_changes_nothing(
            pairs in prop::collection::vec((0.1f64..100.0, 0.1f64..100.0), 2..12),
        ) {
            let scaled: Vec<_> = pairs.iter().map(|&(x, y)| (x.ln(), y.powi(3))).collect();
            prop_assert_eq!(kendall(&pairs), kendall(&scaled));
            if let Some(found) = kendall(&pairs) {
                prop_assert!(found.tau.abs() <= 1.0 + 1e-12 && (0.0..=1.0).contains(&found.chance));
            }
        }
    }
}
