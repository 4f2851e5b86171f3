//! Changes inside a trial after its warm-up: a switch from one level to another, or a trend.
//!
//! Neighbouring intervals of a trial are correlated, and a test that takes them for independent sees change everywhere.
//! Both tests therefore first average long series down to some fifty batches, estimate the correlation of neighbours
//! from the residuals of the fitted model, and widen their standard errors by it. A change smaller than [`MIN_CHANGE`]
//! is no finding, however certain.

use crate::describe::{mean, median};
use crate::student::StudentT;

/// Smallest reported change, as a share of the mean.
pub const MIN_CHANGE: f64 = 0.05;

/// Fewest values in which a change is looked for: in fewer, correlation cannot be told from change.
pub const MIN_VALUES: usize = 30;

/// Nominal false alarm rate of each of the two tests. With φ estimated from thirty correlated values the real rate is
/// three times as large; the tests of this module hold it at about 1 % or less.
const FALSE_ALARM: f64 = 0.003;

/// Fewest batches that a long series is averaged down to.
const MIN_BATCHES: usize = 50;

/// Smallest share of the batches that each level of a switch lasts.
const MIN_LEVEL_SHARE: f64 = 0.15;

/// Largest correlation of neighbours that the inflation accounts for.
const MAX_CORRELATION: f64 = 0.95;

/// Change of level inside a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LevelShift {
    /// Sudden change from one level to another.
    ModeSwitch {
        /// Index of the first value of the second level.
        at: usize,
        /// Mean of the first level.
        before: f64,
        /// Mean of the second level.
        after: f64,
    },
    /// Steady rise or fall.
    Trend {
        /// Change from the first value to the last, as a share of the mean.
        change: f64,
    },
}

/// Finds the change of level in a series of rates. Returns `None` if no change is both certain and large enough to
/// matter. If a switch and a trend would both explain it, returns the one that leaves less unexplained.
#[must_use]
pub fn find(values: &[f64]) -> Option<LevelShift> {
    if values.len() < MIN_VALUES {
        return None;
    }
    let size = (values.len() / MIN_BATCHES).max(1);
    let batches: Vec<f64> = values.chunks_exact(size).filter_map(mean).collect();
    let level = mean(&batches).filter(|level| *level > 0.0)?;
    let switch = SwitchFit::fit(&batches)?;
    let line = TrendFit::fit(&batches)?;
    let switched = (switch.after - switch.before).abs() > MIN_CHANGE * level
        && switch.is_significant(batches.len());
    let drifted = line.change().abs() > MIN_CHANGE * level && line.is_significant(&batches);
    let trend = LevelShift::Trend { change: line.change() / level };
    let mode_switch =
        LevelShift::ModeSwitch { at: switch.at * size, before: switch.before, after: switch.after };
    let switch_explains_more = sum_of_squares(&switch.residuals) <= sum_of_squares(&line.residuals);
    match (switched, drifted) {
        (false, false) => None,
        (true, drifted) if !drifted || switch_explains_more => Some(mode_switch),
        _ => Some(trend),
    }
}

/// Two levels with one switch between them, fitted by least squares.
struct SwitchFit {
    at: usize,
    before: f64,
    after: f64,
    residuals: Vec<f64>,
}

impl SwitchFit {
    /// Finds the best fit with both levels long enough. Returns `None` if the series is too short for two levels.
    fn fit(values: &[f64]) -> Option<Self> {
        let stay = min_level_length(values.len());
        let total: f64 = values.iter().sum();
        let n = values.len() as f64;
        let mut best = (f64::NEG_INFINITY, 0);
        let mut sum = 0.0;
        for (at, value) in values.iter().enumerate().take((values.len() + 1).saturating_sub(stay)) {
            let k = at as f64;
            let explained = (sum - k / n * total).powi(2) / (k * (n - k));
            if at >= stay && explained > best.0 {
                best = (explained, at);
            }
            sum += value;
        }
        let (first, second) = values.split_at(best.1);
        let (before, after) = (mean(first)?, mean(second)?);
        let residuals =
            first.iter().map(|v| v - before).chain(second.iter().map(|v| v - after)).collect();
        Some(Self { at: best.1, before, after, residuals })
    }

    /// Returns `true` if so large a difference is beyond chance: a t-test with its standard error widened for
    /// correlation, corrected by Bonferroni for all the places where the switch was looked for.
    fn is_significant(&self, n: usize) -> bool {
        let inflation = variance_inflation(&self.residuals);
        let (first, n) = (self.at as f64, n as f64);
        let variance = sum_of_squares(&self.residuals) / (n - 2.0) * inflation;
        let error = (variance * (1.0 / first + 1.0 / (n - first))).sqrt();
        let places = n - 2.0 * min_level_length(n as usize) as f64 + 1.0;
        let degrees = n - 2.0;
        StudentT::new(degrees).is_some_and(|student| {
            student.two_sided_p((self.after - self.before) / error) * places < FALSE_ALARM
        })
    }
}

/// Returns the fewest of `n` batches that each level lasts.
fn min_level_length(n: usize) -> usize {
    (n as f64 * MIN_LEVEL_SHARE).ceil() as usize
}

/// Straight line by the Theil–Sen slope: the median over all pairs (Sen 1968).
struct TrendFit {
    slope: f64,
    residuals: Vec<f64>,
}

impl TrendFit {
    fn fit(values: &[f64]) -> Option<Self> {
        let slopes: Vec<f64> =
            pairs(values).map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
        let slope = median(&slopes)?;
        let level = mean(values)?;
        let middle = (values.len() - 1) as f64 / 2.0;
        let residuals = values
            .iter()
            .enumerate()
            .map(|(i, v)| v - level - slope * (i as f64 - middle))
            .collect();
        Some(Self { slope, residuals })
    }

    /// Returns the change from the first value to the last.
    fn change(&self) -> f64 {
        self.slope * (self.residuals.len() - 1) as f64
    }

    /// Returns `true` if the values rise or fall beyond chance: the test of Mann (1945) and Kendall, its variance
    /// widened for correlation after Yue and Wang (2004), with the trend removed first. Ties make the test more
    /// careful, not less.
    fn is_significant(&self, values: &[f64]) -> bool {
        let n = values.len() as f64;
        let score: f64 = pairs(values).map(|(i, j)| sign(values[j] - values[i])).sum();
        let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * variance_inflation(&self.residuals);
        let z = (score.abs() - 1.0).max(0.0) / variance.sqrt();
        StudentT::new(n - 2.0).is_some_and(|student| student.two_sided_p(z) < FALSE_ALARM)
    }
}

/// Returns −1, 0 or 1.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// Returns all pairs of indices, the smaller index first.
fn pairs(values: &[f64]) -> impl Iterator<Item = (usize, usize)> {
    let n = values.len();
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Returns the factor by which correlation of neighbours (AR(1)) widens the variance of a mean: (1 + φ) / (1 − φ).
///
/// φ is the residuals' lag-one correlation. Each of the two parameters of either model lowers it by about (1 + 3φ) / n
/// (Marriott and Pope 1954), which is added back, and so is its standard error, 1 / √n, because an underestimated φ
/// makes false alarms. Negative correlation is not used to narrow anything.
fn variance_inflation(residuals: &[f64]) -> f64 {
    let total = sum_of_squares(residuals);
    if total == 0.0 {
        return 1.0;
    }
    let n = residuals.len() as f64;
    let lagged: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = lagged / total;
    let phi = raw + 2.0 * (1.0 + 3.0 * raw) / n + 1.0 / n.sqrt();
    let phi = phi.clamp(0.0, MAX_CORRELATION);
    (1.0 + phi) / (1.0 - phi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    /// Returns correlated noise of this spread around a level that depends on the index.
    fn around(
        noise: &mut Noise,
        (n, phi): (usize, f64),
        spread: f64,
        level: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        noise.ar1(n, phi).iter().enumerate().map(|(i, v)| level(i) + spread * v).collect()
    }

    /// Asserts that at least eight of ten simulated series show the change put into them, also short and correlated
    /// series.
    fn found_mostly(seed: u64, shows: impl Fn(&mut Noise, (usize, f64)) -> bool) {
        let mut noise = Noise::seeded(seed);
        for (n, phi) in [(30, 0.0), (60, 0.5), (100, 0.5), (1000, 0.5)] {
            let runs = 300;
            let found = (0..runs).filter(|_| shows(&mut noise, (n, phi))).count();
            assert!(found >= runs * 8 / 10, "{n} {phi}: {found} of {runs}");
        }
    }

    #[test]
    fn noise_is_rarely_taken_for_a_change() {
        let runs = 4_000;
        for n in [30, 50, 99, 200, 1000] {
            for phi in [0.0, 0.5] {
                let mut noise = Noise::seeded(n as u64);
                let (mut switches, mut trends) = (0, 0);
                for _ in 0..runs {
                    // A spread of 30 %, so that the threshold for small changes hides as few false alarms as possible.
                    let values = around(&mut noise, (n, phi), 30.0, |_| 100.0);
                    match find(&values) {
                        Some(LevelShift::ModeSwitch { .. }) => switches += 1,
                        Some(LevelShift::Trend { .. }) => trends += 1,
                        None => {}
                    }
                }
                let share = |count: i32| f64::from(count) / f64::from(runs);
                assert!(share(switches) <= 0.0125, "{n} {phi}: {}", share(switches));
                assert!(share(trends) <= 0.0125, "{n} {phi}: {}", share(trends));
            }
        }
    }

    #[test]
    fn a_clear_switch_is_found_where_it_is() {
        found_mostly(2, |noise, (n, phi)| {
            let level = |i| if i < n / 2 { 100.0 } else { 70.0 };
            matches!(find(&around(noise, (n, phi), 5.0, level)),
                Some(LevelShift::ModeSwitch { at, before, after })
                    if at.abs_diff(n / 2) <= n / 10 && (before / after - 10.0 / 7.0).abs() < 0.15)
        });
    }

    #[test]
    fn a_clear_trend_is_found_with_its_size() {
        found_mostly(3, |noise, (n, phi)| {
            let level = |i| 115.0 - 30.0 * i as f64 / (n - 1) as f64;
            matches!(find(&around(noise, (n, phi), 3.0, level)),
                Some(LevelShift::Trend { change }) if (change + 0.3).abs() < 0.1)
        });
    }

    #[test]
    fn what_does_not_matter_is_no_finding_however_certain() {
        let step: Vec<f64> = (0..100).map(|i| if i < 50 { 100.0 } else { 104.0 }).collect();
        assert_eq!(find(&step), None);
        let line: Vec<f64> = (0..100).map(|i| 100.0 + 0.04 * f64::from(i)).collect();
        assert_eq!(find(&line), None);
        assert_eq!(find(&[3.0; 100]), None);
        assert_eq!(find(&[0.0; 100]), None);
    }

    #[test]
    fn without_noise_the_answer_is_exact() {
        let step: Vec<f64> = (0..40).map(|i| if i < 10 { 100.0 } else { 50.0 }).collect();
        assert_eq!(
            find(&step),
            Some(LevelShift::ModeSwitch { at: 10, before: 100.0, after: 50.0 })
        );
        let line: Vec<f64> = (0..=40).map(|i| 80.0 + f64::from(i)).collect();
        assert!(
            matches!(find(&line), Some(LevelShift::Trend { change }) if (change - 0.4).abs() < 1e-9)
        );
        assert_eq!(find(&step[..29]), None, "too few values to say");
    }

    proptest! {
        #[test]
        fn a_unit_changes_nothing(values in prop::collection::vec(1.0f64..1e3, 30..120)) {
            let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
            match (find(&values), find(&scaled)) {
                (None, None) => {}
                (
                    Some(LevelShift::ModeSwitch { at, .. }),
                    Some(LevelShift::ModeSwitch { at: scaled_at, .. }),
                ) => prop_assert_eq!(at, scaled_at),
                (Some(LevelShift::Trend { change }), Some(LevelShift::Trend { change: scaled })) => {
                    prop_assert!((change - scaled).abs() < 1e-9);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
