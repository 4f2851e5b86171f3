//! Covariates: what an influence that was measured beside values explains of them (Deng, Xu, Kohavi and Walker,
//! "Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data", WSDM 2013).

use crate::describe::mean;

/// Returns the slope of least squares of values on a covariate within groups: how far the values deviate from the mean
/// of their group for each unit by which the covariate does. Differences between groups do not count. Returns `None`
/// if the covariate varies in no group.
///
/// A group is the covariate and the values, of the same length; a group of another shape is left out.
#[must_use]
pub fn slope_within_groups<'a>(
    groups: impl Iterator<Item = (&'a [f64], &'a [f64])>,
) -> Option<f64> {
    let (mut products, mut squares) = (0.0, 0.0);
    for (covariate, values) in groups.filter(|(covariate, values)| covariate.len() == values.len())
    {
        let (Some(centre), Some(level)) = (mean(covariate), mean(values)) else { continue };
        for (at, value) in covariate.iter().zip(values) {
            products += (at - centre) * (value - level);
            squares += (at - centre).powi(2);
        }
    }
    let slope = products / squares;
    slope.is_finite().then_some(slope)
}

/// Returns the values without what the covariate explains of them: as they would be if it were 0.
#[must_use]
pub fn without_covariate(covariate: &[f64], values: &[f64], slope: f64) -> Vec<f64> {
    covariate.iter().zip(values).map(|(at, value)| value - slope * at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_covariate_that_does_not_vary_has_no_slope() {
        let values = [1.0, 2.0];
        assert_eq!(slope_within_groups([(&[3.0, 3.0][..], &values[..])].into_iter()), None);
        assert_eq!(slope_within_groups(std::iter::empty()), None);
        assert_eq!(slope_within_groups([(&[3.0][..], &values[..])].into_iter()), None);
    }

    proptest! {
        #[test]
        fn a_line_is_found_whatever_the_levels_of_the_groups(
            slope in -5.0..5.0f64,
            groups in prop::collection::vec((-9.0..9.0f64, prop::collection::vec(0.0..1.0f64, 2..20)), 1..6),
        ) {
            let line = |(level, covariate): &(f64, Vec<f64>)| -> Vec<f64> {
                covariate.iter().map(|at| level + slope * at).collect()
            };
            let values: Vec<Vec<f64>> = groups.iter().map(line).collect();
            let varies = groups.iter().any(|(_, all)| all.iter().any(|one| (one - all[0]).abs() > 1e-3));
            prop_assume!(varies);
            let pairs = groups.iter().zip(&values).map(|((_, at), values)| (&at[..], &values[..]));
            let found = slope_within_groups(pairs).unwrap();
            prop_assert!((found - slope).abs() < 1e-6, "{found} instead of {slope}");
            for ((level, covariate), values) in groups.iter().zip(&values) {
                let adjusted = without_covariate(covariate, values, found);
                prop_assert!(adjusted.iter().all(|value| (value - level).abs() < 1e-5));
            }
        }
    }
}
