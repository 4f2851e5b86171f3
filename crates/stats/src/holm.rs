//! Holm's step-down correction for many comparisons.

/// Returns adjusted p-values, in the order given. Rejecting those below α keeps the chance of any false rejection in
/// the family at α, whatever the dependence between the tests.
///
/// Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
/// (1979). A p-value that is NaN counts as 1.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    let at = |index: usize| {
        if p[index].is_nan() { 1.0 } else { p[index].clamp(0.0, 1.0) }
    };
    order.sort_by(|&a, &b| at(a).total_cmp(&at(b)));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        let hypotheses_left = (p.len() - rank) as f64;
        largest = largest.max((at(index) * hypotheses_left).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::student::StudentT;
    use proptest::prelude::*;

    /// Reference: `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")` in R.
    #[test]
    fn the_same_as_r() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    #[test]
    fn a_family_without_any_difference_is_wrong_in_one_run_of_twenty() {
        let mut noise = Noise::seeded(1979);
        let t = StudentT::new(9.0).unwrap();
        let runs = 4_000;
        let wrong = (0..runs)
            .filter(|_| {
                let p: Vec<f64> = (0..7)
                    .map(|_| {
                        let sample = noise.white(10);
                        let mean = crate::describe::mean(&sample).unwrap();
                        let sd = crate::describe::sd(&sample).unwrap();
                        t.two_sided_p(mean / (sd / 10f64.sqrt()))
                    })
                    .collect();
                holm(&p).iter().any(|&p| p < 0.05)
            })
            .count();
        let share = wrong as f64 / f64::from(runs);
        assert!((0.035..=0.06).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn never_smaller_never_above_one_and_in_the_same_order(
            p in prop::collection::vec(0.0f64..=1.0, 0..20),
        ) {
            let adjusted = holm(&p);
            prop_assert_eq!(adjusted.len(), p.len());
            for (i, a) in adjusted.iter().enumerate() {
                prop_assert!(*a >= p[i] && *a <= 1.0);
                prop_assert!(*a <= (p[i] * p.len() as f64).min(1.0).max(largest_below(&adjusted, &p, i)));
                for (j, b) in adjusted.iter().enumerate() {
                    prop_assert!(p[i] > p[j] || a <= b);
                }
            }
        }
    }

    /// Returns the largest adjusted value among smaller p-values: the only reason to exceed Bonferroni's bound.
    fn largest_below(adjusted: &[f64], p: &[f64], of: usize) -> f64 {
        (0..p.len()).filter(|&i| p[i] < p[of]).map(|i| adjusted[i]).fold(0.0, f64::max)
    }
}
