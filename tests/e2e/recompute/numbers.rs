//! Statistics of docs/METHOD.md, implemented again by other methods than the program's.

use std::f64::consts::FRAC_PI_2;

/// Steps of a numerical integral. Its error is far below the compared differences.
const STEPS: u32 = 2_000;

/// Returns the arithmetic mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the median.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Returns the standard error of the mean.
pub(crate) fn standard_error(values: &[f64]) -> f64 {
    let (mean, n) = (mean(values), values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (n * (n - 1.0))).sqrt()
}

/// Returns the confidence interval of the mean by Student's t.
pub(crate) fn interval(values: &[f64], confidence: f64) -> [f64; 2] {
    let half = quantile(f64::midpoint(1.0, confidence), values.len() - 1) * standard_error(values);
    [mean(values) - half, mean(values) + half]
}

/// Returns the share of Student's t with these degrees of freedom beyond `t`, which is at or above 0.
///
/// With t = √ν · tan θ the density is that of cosᵛ⁻¹ θ, up to a factor that cancels.
pub(crate) fn beyond(t: f64, degrees: usize) -> f64 {
    let power = i32::try_from(degrees - 1).expect("few blocks");
    let density = |angle: f64| angle.sin().powi(power);
    let reach = ((degrees as f64).sqrt() / t).atan();
    integral(density, reach) / (2.0 * integral(density, FRAC_PI_2))
}

/// Returns the value of Student's t below which this share (above one half) lies, by bisection.
pub(crate) fn quantile(share: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while beyond(high, degrees) > 1.0 - share {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if beyond(middle, degrees) > 1.0 - share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the two-sided p-value of a mean of 0.
pub(crate) fn p_of_zero(values: &[f64]) -> f64 {
    let (mean, error) = (mean(values), standard_error(values));
    match (mean == 0.0, error == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => 2.0 * beyond((mean / error).abs(), values.len() - 1),
    }
}

/// Returns Holm's correction: the largest, over all p-values up to this one, of the p-value times the number of
/// p-values that are not smaller.
pub(crate) fn holm(all: &[f64], one: f64) -> f64 {
    all.iter()
        .filter(|&&p| p <= one)
        .map(|&p| p * all.iter().filter(|&&other| other >= p).count() as f64)
        .fold(0.0, f64::max)
        .min(1.0)
}

/// Returns the integral from 0 to `end`, by Simpson's rule.
fn integral(function: impl Fn(f64) -> f64, end: f64) -> f64 {
    let step = end / f64::from(STEPS);
    let weighted = |index: u32| {
        let weight = match index {
            0 | STEPS => 1.0,
            index if index % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * function(f64::from(index) * step)
    };
    (0..=STEPS).map(weighted).sum::<f64>() * step / 3.0
}

#[test]
fn students_t_is_as_printed_in_tables() {
    for (share, degrees, printed) in
        [(0.975, 1, 12.706), (0.975, 4, 2.776), (0.95, 10, 1.812), (0.8, 29, 0.854)]
    {
        assert!((quantile(share, degrees) - printed).abs() < 5e-4, "{share} {degrees}");
    }
}

#[test]
fn holm_is_as_in_his_paper() {
    let all = [0.01, 0.04, 0.03, 0.005];
    let adjusted: Vec<f64> = all.iter().map(|&p| holm(&all, p)).collect();
    let expected = [0.03, 0.06, 0.06, 0.02];
    assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{adjusted:?}");
}
