//! Warm-up of a trial, in intervals, after docs/METHOD.md, "Warm-up" and "Switches and trends".

use super::numbers::{beyond, mean, median};

/// Least number of intervals for the detection of a change of level.
const FEWEST_FOR_A_CHANGE: usize = 30;

/// Returns the number of intervals to cut off, given the rate of each.
pub(crate) fn cut(rates: &[f64]) -> usize {
    let one_in_ten = rates.len().div_ceil(10).min(rates.len() / 2);
    let Some(cut) = mser(rates) else { return one_in_ten };
    let quarter = rates.len() / 4;
    let switched = || switch(&rates[one_in_ten..]).is_some_and(|at| one_in_ten + at > quarter);
    if cut > quarter && switched() { one_in_ten } else { cut }
}

/// Returns the cut with the smallest standard error after it. Returns `None` if there are too few intervals, or if it
/// would cut a third of them.
fn mser(rates: &[f64]) -> Option<usize> {
    let size = match rates.len() {
        0..20 => return None,
        20..100 => 1,
        _ => 5,
    };
    let batches: Vec<f64> = rates.chunks_exact(size).map(mean).collect();
    let limit = batches.len() / 3;
    let error = |cut: &usize| {
        let kept = &batches[*cut..];
        let mean = mean(kept);
        let squares: f64 = kept.iter().map(|value| (value - mean) * (value - mean)).sum();
        squares / (kept.len() * kept.len()) as f64
    };
    let best = (0..=limit).min_by(|one, other| error(one).total_cmp(&error(other)))?;
    (best < limit).then_some(best * size)
}

/// Returns the position where the level switches, if it does, and if a switch explains more than a trend.
fn switch(rates: &[f64]) -> Option<usize> {
    if rates.len() < FEWEST_FOR_A_CHANGE {
        return None;
    }
    let size = (rates.len() / 50).max(1);
    let values: Vec<f64> = rates.chunks_exact(size).map(mean).collect();
    let level = mean(&values);
    let (at, left) = two_levels(&values);
    let step = mean(&values[at..]) - mean(&values[..at]);
    if step.abs() <= 0.05 * level || !switch_is_certain(values.len(), at, step, &left) {
        return None;
    }
    let (slope, left_by_line) = line(&values);
    let change = slope * (values.len() - 1) as f64;
    let drifted = change.abs() > 0.05 * level && trend_is_certain(&values, &left_by_line);
    (!drifted || squares(&left) <= squares(&left_by_line)).then_some(at * size)
}

/// Returns the first value of the second level, for the two levels with the least residuals, and these residuals. Each
/// level lasts 15 % or longer.
fn two_levels(values: &[f64]) -> (usize, Vec<f64>) {
    let stay = shortest_stay(values.len());
    let left = |at: usize| -> Vec<f64> {
        let (first, second) = values.split_at(at);
        let from = |part: &[f64]| {
            let level = mean(part);
            part.iter().map(|value| value - level).collect::<Vec<_>>()
        };
        [from(first), from(second)].concat()
    };
    (stay..=values.len() - stay)
        .map(|at| (at, left(at)))
        .min_by(|(_, one), (_, other)| squares(one).total_cmp(&squares(other)))
        .expect("room for two levels")
}

fn shortest_stay(n: usize) -> usize {
    (0.15 * n as f64).ceil() as usize
}

/// Tests a switch of level by t, at 0.3 % over all positions that were tried.
fn switch_is_certain(n: usize, at: usize, step: f64, left: &[f64]) -> bool {
    let (first, second) = (at as f64, (n - at) as f64);
    let variance = squares(left) / (n - 2) as f64 * widening(left);
    let t = step.abs() / (variance * (1.0 / first + 1.0 / second)).sqrt();
    let places = (n + 1 - 2 * shortest_stay(n)) as f64;
    2.0 * beyond(t, n - 2) * places < 0.003
}

/// Returns the slope of Theil and Sen, and the residuals of the line.
fn line(values: &[f64]) -> (f64, Vec<f64>) {
    let slopes: Vec<f64> = pairs(values).map(|(run, rise)| rise / run as f64).collect();
    let slope = median(&slopes);
    let (level, middle) = (mean(values), (values.len() - 1) as f64 / 2.0);
    let left = values.iter().enumerate();
    (slope, left.map(|(index, value)| value - level - slope * (index as f64 - middle)).collect())
}

/// Tests a trend by Mann and Kendall, at 0.3 %.
fn trend_is_certain(values: &[f64], left: &[f64]) -> bool {
    let n = values.len() as f64;
    let rises = pairs(values).filter(|(_, rise)| *rise > 0.0).count() as f64;
    let falls = pairs(values).filter(|(_, rise)| *rise < 0.0).count() as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * widening(left);
    let z = ((rises - falls).abs() - 1.0).max(0.0) / variance.sqrt();
    2.0 * beyond(z, values.len() - 2) < 0.003
}

/// Returns all pairs: their distance, and the increase to the later one.
fn pairs(values: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    (1..values.len()).flat_map(move |run| {
        (run..values.len()).map(move |later| (run, values[later] - values[later - run]))
    })
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Computes (1 + φ) / (1 − φ), with φ corrected for the bias of two fitted parameters and raised by one standard error.
fn widening(left: &[f64]) -> f64 {
    let n = left.len() as f64;
    let neighbours: f64 = left.iter().zip(&left[1..]).map(|(one, next)| one * next).sum();
    let seen = neighbours / squares(left);
    let phi = (seen + 2.0 * (1.0 + 3.0 * seen) / n + 1.0 / n.sqrt()).clamp(0.0, 0.95);
    (1.0 + phi) / (1.0 - phi)
}

#[test]
fn a_slow_beginning_is_cut_and_a_change_of_level_is_not() {
    let wobble = |index: usize| f64::from(u8::from(index.is_multiple_of(2)));
    let slow_start: Vec<f64> =
        (0..60).map(|index| if index < 5 { 20.0 } else { 100.0 } + wobble(index)).collect();
    assert_eq!(cut(&slow_start), 5);
    let switched: Vec<f64> =
        (0..60).map(|index| if index < 25 { 80.0 } else { 100.0 } + wobble(index)).collect();
    assert_eq!(cut(&switched), 6);
}
