//! Amounts in sentences: as many digits as a reader keeps in mind, and never more than the interval supports.

use crate::number::round_with_interval;

/// Half width below which the blocks had the same figure, as far as a reader is concerned.
const LEAST_HALF_WIDTH: f64 = 0.005;

/// Share of a value from which on the half width of its interval is told as a range. Intervals of ratios are symmetric on
/// the log scale, so that wide ones do not reach equally far to both sides.
const WIDE_SHARE: f64 = 0.6;

/// Formats an amount with its interval: `21 ± 2`, or `4 to 116` if the interval is wide.
pub(crate) fn with_interval(value: f64, [low, high]: [f64; 2]) -> String {
    let half = (high - low) / 2.0;
    if low > 0.0 && half > WIDE_SHARE * value {
        let places = if low >= 0.95 { 0 } else { decimal_places(low) };
        return format!("{} to {}", fixed(low, places), fixed(high, places));
    }
    with_half_width(value, half)
}

/// Formats a value with the half width of its interval: whole numbers from a half width of 1, below it one digit of the
/// half width. A half width of 0 says nothing, and is left out.
fn with_half_width(value: f64, half: f64) -> String {
    if half < LEAST_HALF_WIDTH {
        return fixed(value, 1);
    }
    // A half width that rounds up to the next digit is shown with one digit, too.
    let places = if half >= 0.95 { 0 } else { decimal_places(half) };
    format!("{} ± {}", fixed(value, places), fixed(half, places))
}

/// Returns the decimal places that show one digit of a half width below 1.
fn decimal_places(half: f64) -> usize {
    const MOST: usize = 6;
    (1..MOST).find(|&places| half * 10f64.powi(places as i32) >= 0.95).unwrap_or(MOST)
}

/// Formats a bound as a percentage: whole per cent, or to a tenth below 1.
pub(crate) fn bound(percent: f64) -> String {
    if percent >= 0.95 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Formats an upper bound, rounded up: to a tenth below 10, else to a whole number.
pub(crate) fn upper_bound(amount: f64) -> String {
    // What is a tenth but for the error of binary fractions stays that tenth.
    let tenths = (amount * 10.0 - 1e-6).ceil() / 10.0;
    if tenths < 10.0 { format!("{tenths:.1}") } else { format!("{:.0}", amount.ceil()) }
}

/// Formats a figure with its half width and its unit. A half width as large as the figure says that the figure is rough.
pub(crate) fn figure(mean: f64, interval: Option<[f64; 2]>, unit: &str) -> String {
    let half = interval.map_or(0.0, |[low, high]| (high - low) / 2.0);
    let amount = match round_with_interval(mean, interval) {
        (text, _) if half == 0.0 => text,
        (text, _) if half >= mean.abs() => format!("roughly {text}"),
        (text, None) => text,
        (text, Some(half)) => format!("{text} ± {half}"),
    };
    if unit.is_empty() { amount } else { format!("{amount} {unit}") }
}

fn fixed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|digit| matches!(digit, '0' | '.')) => digits.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_width_decides_the_digits() {
        assert_eq!(with_half_width(21.34, 2.12), "21 ± 2");
        assert_eq!(with_half_width(21.34, 0.98), "21 ± 1");
        assert_eq!(with_half_width(34.21, 0.42), "34.2 ± 0.4");
        assert_eq!(with_half_width(1.234, 0.031), "1.23 ± 0.03");
        assert_eq!(with_half_width(35.0, 12.3), "35 ± 12");
        assert_eq!(with_half_width(-0.01, 0.2), "0.0 ± 0.2");
        assert_eq!(with_half_width(40.0, 0.0), "40.0");
    }

    #[test]
    fn an_upper_bound_is_rounded_up() {
        let bounds = [0.31, 1.06, 2.0, 9.91, 9.95, 12.2].map(upper_bound);
        assert_eq!(bounds, ["0.4", "1.1", "2.0", "10", "10", "13"]);
    }

    #[test]
    fn a_wide_interval_is_a_range() {
        assert_eq!(with_interval(21.3, [19.2, 23.4]), "21 ± 2");
        assert_eq!(with_interval(48.2, [4.1, 116.3]), "4 to 116");
        assert_eq!(with_interval(0.5, [0.12, 0.9]), "0.1 to 0.9");
    }

    #[test]
    fn a_figure_as_wide_as_itself_is_rough() {
        assert_eq!(figure(17.12, Some([15.3, 18.9]), "Gbit/s"), "17.1 ± 1.8 Gbit/s");
        assert_eq!(figure(10.0, Some([-30.0, 50.0]), "Gbit/s"), "roughly 10 Gbit/s");
        assert_eq!(figure(34.2, None, ""), "34.20");
        assert_eq!(figure(0.0, Some([0.0, 0.0]), "%"), "0 %");
    }
}
