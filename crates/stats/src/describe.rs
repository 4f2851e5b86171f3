//! Descriptive statistics of a sample: mean, median, standard deviation, interval of the mean, quantiles, fairness.

use crate::student::StudentT;

/// Returns the arithmetic mean. Returns `None` for an empty sample.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the median. Returns `None` for an empty sample.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the mean of what is left when this share (0–0.5, the latter excluded) of the sample is left out at either end,
/// rounded down to whole values. Returns `None` for an empty sample, a share outside that range, or a NaN.
#[must_use]
pub fn trimmed_mean(values: &[f64], share: f64) -> Option<f64> {
    let (sorted, cut) = sort_to_trim(values, share)?;
    mean(&sorted[cut..sorted.len() - cut])
}

/// Returns the standard error of [`trimmed_mean`], from the winsorized sample (Tukey and McLaughlin, *Sankhyā* A 25,
/// 1963). Returns `None` if fewer than two values are left, for a share outside that range, or a NaN.
#[must_use]
pub fn trimmed_mean_error(values: &[f64], share: f64) -> Option<f64> {
    let (sorted, cut) = sort_to_trim(values, share)?;
    let count = sorted.len();
    let left = count - 2 * cut;
    if left < 2 {
        return None;
    }
    let (low, high) = (sorted[cut], sorted[count - 1 - cut]);
    let winsorized: Vec<f64> = sorted.iter().map(|value| value.clamp(low, high)).collect();
    let degrees = (count - 1) as f64 / (left * (left - 1)) as f64;
    Some(sd(&winsorized)? * degrees.sqrt())
}

/// Returns the sorted sample, and the number of values that this share (0–0.5, the latter excluded) leaves out at either
/// end. Returns `None` for a share outside that range, or a NaN.
fn sort_to_trim(values: &[f64], share: f64) -> Option<(Vec<f64>, usize)> {
    if !(0.0..0.5).contains(&share) || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (share * sorted.len() as f64).floor() as usize;
    Some((sorted, cut))
}

/// Returns the sample standard deviation (divisor n − 1). Returns `None` for fewer than two values.
#[must_use]
pub fn sd(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns Student's t interval of the mean with this confidence (0–1, both excluded). Returns `None` for fewer than
/// two values.
#[must_use]
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let mean = mean(values)?;
    let error = sd(values)? / (values.len() as f64).sqrt();
    let half = StudentT::for_mean(values.len())?.half_width(confidence) * error;
    Some([mean - half, mean + half])
}

/// Returns the quantile: the value with this share (0–1) of the sample below it, interpolated between neighbours (type
/// 7 of Hyndman and Fan, 1996; the default of R and NumPy). Returns `None` for an empty sample or a share outside 0–1.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&share) {
        return None;
    }
    let mut all = values.to_vec();
    let place = share * (all.len() - 1) as f64;
    // Selected, not sorted: a quantile is asked for of ten thousand values, and of each of many resamples.
    let (_, &mut low, above) = all.select_nth_unstable_by(place.floor() as usize, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).filter(|_| place.fract() > 0.0);
    Some(low + (high.unwrap_or(low) - low) * place.fract())
}

/// Returns Jain's fairness index of shares of one resource: 1 if all are equal, 1/n if one of n has everything (Jain,
/// Chiu and Hawe, DEC-TR-301, 1984). Returns `None` for an empty sample, or if no share is above 0.
#[must_use]
pub fn fairness(shares: &[f64]) -> Option<f64> {
    // Divided by the largest share, so that no square overflows or underflows.
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let scaled = || shares.iter().map(|share| share / largest);
    let (sum, squares): (f64, f64) = (scaled().sum(), scaled().map(|share| share * share).sum());
    (largest > 0.0).then(|| (sum * sum / (shares.len() as f64 * squares)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    /// Reference: Student's data on extra sleep (Student 1908, R's `sleep`, group 2). `t.test` in R gives mean 2.33 and
    /// the interval 0.8976775 – 3.7623225.
    #[test]
    fn the_interval_of_students_sleep_data() {
        let sleep = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        assert!((mean(&sleep).unwrap() - 2.33).abs() < 1e-12);
        assert!((sd(&sleep).unwrap() - 2.002_249).abs() < 1e-6);
        assert!((median(&sleep).unwrap() - 1.75).abs() < 1e-12);
        let [low, high] = mean_interval(&sleep, 0.95).unwrap();
        assert!((low - 0.897_677_5).abs() < 1e-6 && (high - 3.762_322_5).abs() < 1e-6);
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        assert_eq!(quantile(&values, 1.5), None);
    }

    proptest::proptest! {
        #[test]
        fn a_quantile_lies_between_neighbours_of_the_sorted_sample(
            mut values in proptest::collection::vec(-1e9..1e9f64, 1..40), share in 0.0..=1.0f64,
        ) {
            let found = quantile(&values, share).unwrap();
            values.sort_by(f64::total_cmp);
            let place = share * (values.len() - 1) as f64;
            let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
            proptest::prop_assert_eq!(found, low + (high - low) * place.fract());
        }
    }

    /// Reference: `yuen.t.test`'s standard error by hand. The winsorized sample is 2, 2, 3, 4, 4 with variance 1, and three of
    /// five values are left: √(4 · 1 / (3 · 2)).
    #[test]
    fn the_error_of_a_trimmed_mean_is_that_of_the_winsorized_sample() {
        let values = [1.0, 4.0, 3.0, 2.0, 900.0];
        assert!((trimmed_mean_error(&values, 0.2).unwrap() - (4.0f64 / 6.0).sqrt()).abs() < 1e-12);
        let plain = trimmed_mean_error(&values, 0.0).unwrap();
        assert!((plain - sd(&values).unwrap() / 5f64.sqrt()).abs() < 1e-9);
        assert_eq!(trimmed_mean_error(&[1.0], 0.2), None);
        assert_eq!(trimmed_mean_error(&[1.0, f64::NAN, 2.0], 0.2), None);
    }

    #[test]
    fn the_error_of_a_trimmed_mean_is_its_spread() {
        let mut noise = Noise::seeded(63);
        let samples: Vec<Vec<f64>> = (0..4_000).map(|_| noise.white(15)).collect();
        let means: Vec<f64> =
            samples.iter().filter_map(|values| trimmed_mean(values, 0.2)).collect();
        let squares: Vec<f64> = samples
            .iter()
            .filter_map(|values| trimmed_mean_error(values, 0.2))
            .map(|error| error * error)
            .collect();
        let ratio = mean(&squares).unwrap().sqrt() / sd(&means).unwrap();
        assert!((0.93..1.07).contains(&ratio), "{ratio}");
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(mean(&[]), None);
        assert_eq!(median(&[]), None);
        assert_eq!(sd(&[1.0]), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
    }

    #[test]
    fn the_interval_covers_the_mean_as_often_as_it_says() {
        let mut noise = Noise::seeded(1908);
        let runs = 10_000;
        let covered = (0..runs)
            .filter(|_| {
                let [low, high] = mean_interval(&noise.white(6), 0.95).unwrap();
                low <= 0.0 && 0.0 <= high
            })
            .count();
        let share = covered as f64 / f64::from(runs);
        assert!((0.943..=0.957).contains(&share), "{share}");
    }

    #[test]
    fn the_fairness_of_equals_is_one_and_of_a_monopoly_one_over_n() {
        assert_eq!(fairness(&[3.0; 20]), Some(1.0));
        assert_eq!(fairness(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // Worked out by hand: (1 + 2 + 3)² / (3 · (1 + 4 + 9)).
        assert!((fairness(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!((fairness(&[]), fairness(&[0.0, 0.0])), (None, None));
    }

    #[test]
    fn a_trimmed_mean_leaves_the_ends_out() {
        let values = [1e9, 2.0, 3.0, 4.0, -1e9, 5.0, 6.0, f64::INFINITY, 7.0, 8.0];
        assert_eq!(trimmed_mean(&values, 0.2), Some(5.5));
        assert_eq!(trimmed_mean(&[1.0, 5.0], 0.2), Some(3.0));
        assert_eq!((trimmed_mean(&[], 0.2), trimmed_mean(&[1.0], 0.5)), (None, None));
        assert_eq!(trimmed_mean(&[1.0, f64::NAN], 0.2), None);
    }

    proptest! {
        #[test]
        fn fairness_has_no_unit_and_lies_between_a_monopoly_and_equality(
            shares in prop::collection::vec(0.0f64..1e12, 1..50),
            unit in 1e-9f64..1e9,
        ) {
            let scaled: Vec<f64> = shares.iter().map(|share| share * unit).collect();
            match (fairness(&shares), fairness(&scaled)) {
                (Some(index), Some(other)) => {
                    prop_assert!(1.0 / shares.len() as f64 <= index * (1.0 + 1e-9) && index <= 1.0);
                    prop_assert!((index - other).abs() < 1e-9);
                }
                (one, other) => prop_assert_eq!(one, other),
            }
        }
    }

    proptest! {
        #[test]
        fn a_unit_changes_nothing(
            values in prop::collection::vec(-1e3f64..1e3, 2..40),
            unit in 0.001f64..1000.0,
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
            prop_assert!(close(mean(&scaled).unwrap(), mean(&values).unwrap() * unit));
            prop_assert!(close(median(&scaled).unwrap(), median(&values).unwrap() * unit));
            prop_assert!(close(sd(&scaled).unwrap(), sd(&values).unwrap() * unit));
        }

        #[test]
        fn a_quantile_lies_within_the_sample_and_rises_with_its_share(
            values in prop::collection::vec(-1e6f64..1e6, 1..40),
            shares in prop::array::uniform2(0.0f64..=1.0),
        ) {
            let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
            let (low, high) = (quantile(&values, low).unwrap(), quantile(&values, high).unwrap());
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= low && low <= high && high <= most);
        }
    }
}
