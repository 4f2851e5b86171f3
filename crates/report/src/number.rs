//! Number formatting for people: no more digits than the confidence interval supports.
//!
//! Rounding follows the Particle Data Group (Review of Particle Physics, Introduction, 5.3): two digits of the half
//! width if its three leading digits lie between 100 and 354, else one; the value ends at the same digit.

/// Largest number of significant digits of a value, however narrow its interval.
const MOST_DIGITS: i32 = 6;

/// Number of significant digits of a value without an interval.
const DIGITS_ALONE: i32 = 4;

/// Rounds a value and the half width of its interval together. The half width is `None` without an interval.
pub(crate) fn round_with_interval(
    value: f64,
    interval: Option<[f64; 2]>,
) -> (String, Option<String>) {
    match interval.map(half_width) {
        Some(half) if half.is_finite() => {
            let places = places(value, half);
            (fixed(value, places), Some(fixed(half, places)))
        }
        _ => (fixed(value, significant(value, DIGITS_ALONE)), None),
    }
}

/// Largest number of blocks whose interval is always too wide to say anything: Student's t with one degree of freedom.
const TOO_FEW_BLOCKS: u32 = 2;

/// Number of blocks from which an interval is shown however wide it is.
const ENOUGH_BLOCKS: u32 = 6;

/// Number of significant digits of a value whose interval is not shown.
const DIGITS_WITHOUT_INTERVAL: i32 = 3;

/// Returns the interval of a mean if it says anything: of more than two blocks, and, unless there are many blocks,
/// narrower than the value itself.
pub(crate) fn telling_interval(
    value: f64,
    interval: Option<[f64; 2]>,
    blocks: u32,
) -> Option<[f64; 2]> {
    interval.filter(|ends| {
        let half = half_width(*ends);
        half == 0.0 || blocks > TOO_FEW_BLOCKS && (blocks >= ENOUGH_BLOCKS || half < value.abs())
    })
}

/// Rounds the value and half width of a figure of so many blocks. The half width is `None` if the interval says nothing.
pub(crate) fn figure(
    value: f64,
    interval: Option<[f64; 2]>,
    blocks: u32,
) -> (String, Option<String>) {
    match telling_interval(value, interval, blocks) {
        None if interval.is_some() => (three_digits(value), None),
        telling => round_with_interval(value, telling),
    }
}

/// Formats a number with three significant digits.
pub(crate) fn three_digits(value: f64) -> String {
    fixed(value, significant(value, DIGITS_WITHOUT_INTERVAL))
}

/// Formats a ratio like [`ratio`], with at most three significant digits.
pub(crate) fn short_ratio(value: f64, interval: [f64; 2]) -> String {
    let half = half_width(interval);
    let least = significant(value, 2);
    let most = significant(value, DIGITS_WITHOUT_INTERVAL);
    let places = if half.is_finite() { places(value, half).clamp(least, most) } else { least };
    fixed(value, places)
}

/// Formats a ratio, rounded as its interval supports, but to at least two significant digits: `0×` would be wrong.
pub(crate) fn ratio(value: f64, interval: [f64; 2]) -> String {
    let half = half_width(interval);
    let least = significant(value, 2);
    let places = if half.is_finite() { places(value, half).max(least) } else { least };
    fixed(value, places)
}

/// Formats the two ends of an interval, rounded as its width supports.
pub(crate) fn round_ends(interval: [f64; 2]) -> [String; 2] {
    let widest = interval[0].abs().max(interval[1].abs());
    let places = places(widest, half_width(interval));
    interval.map(|end| fixed(end, places))
}

/// Formats a share as a percentage: `2 %`, `0.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).round() / 10.0;
    format!("{tenths} %")
}

/// Formats a p-value with three decimal places, or as below the smallest of them.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Pads the numbers of a column so that their decimal points are aligned.
///
/// All results have the same width. An empty text becomes blanks.
pub(crate) fn align(numbers: &[String]) -> Vec<String> {
    let split: Vec<(&str, &str)> = numbers.iter().map(|number| split_at_point(number)).collect();
    let widest = |pick: fn(&(&str, &str)) -> usize| split.iter().map(pick).max().unwrap_or(0);
    let whole = widest(|(whole, _)| whole.chars().count());
    let rest = widest(|(_, rest)| rest.chars().count());
    split.iter().map(|(before, after)| format!("{before:>whole$}{after:<rest$}")).collect()
}

/// Splits a number before its decimal point.
fn split_at_point(number: &str) -> (&str, &str) {
    number.find('.').map_or((number, ""), |point| number.split_at(point))
}

fn half_width([low, high]: [f64; 2]) -> f64 {
    (high - low) / 2.0
}

/// Returns the decimal places (negative: places before the point) that a half width supports.
fn places(value: f64, half: f64) -> i32 {
    let most = significant(value, MOST_DIGITS);
    if half <= 0.0 {
        return significant(value, DIGITS_ALONE);
    }
    let exponent = exponent(half);
    let leading = (half / 10f64.powi(exponent) * 100.0).round();
    let supported = if (355.0..950.0).contains(&leading) { -exponent } else { 1 - exponent };
    // From 950 the one digit is rounded to 10, of which both are shown, one place further left.
    let supported = if leading >= 950.0 { supported - 1 } else { supported };
    supported.min(most)
}

/// Returns the decimal places at which a value has this many significant digits, at least 0.
fn significant(value: f64, digits: i32) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (digits - 1 - exponent(value)).max(0)
}

/// Returns the power of ten of a number's first digit.
fn exponent(number: f64) -> i32 {
    number.abs().log10().floor() as i32
}

/// Formats a number with this many decimal places. Negative places round before the point.
fn fixed(number: f64, places: i32) -> String {
    let text = match usize::try_from(places) {
        Ok(places) => format!("{number:.places$}"),
        Err(_) => {
            let step = 10f64.powi(-places);
            format!("{:.0}", (number / step).round() * step)
        }
    };
    without_negative_zero(text)
}

/// Removes the sign of a rounded 0: `-0.0` has the same meaning as `0.0`.
fn without_negative_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|digit| matches!(digit, '0' | '.')) => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn around(value: f64, half: f64) -> String {
        let (value, half) = round_with_interval(value, Some([value - half, value + half]));
        format!("{value} ± {}", half.unwrap())
    }

    #[test]
    fn a_half_width_decides_the_digits() {
        assert_eq!(around(34.2131, 0.351), "34.21 ± 0.35");
        assert_eq!(around(34.2131, 0.42), "34.2 ± 0.4");
        assert_eq!(around(57_412.0, 1083.0), "57400 ± 1100");
        assert_eq!(around(26.2, 31.4), "26 ± 31");
        assert_eq!(around(16.41, 0.96), "16.4 ± 1.0");
        assert_eq!(around(0.0, 0.0), "0 ± 0");
    }

    #[test]
    fn without_an_interval_four_digits_are_shown() {
        assert_eq!(round_with_interval(34.213_1, None), ("34.21".to_owned(), None));
        assert_eq!(round_with_interval(57_412.4, None), ("57412".to_owned(), None));
        assert_eq!(around(34.213_1, 0.0), "34.21 ± 0.00");
    }

    #[test]
    fn an_interval_that_says_nothing_is_not_shown() {
        let shown = |value, half, blocks| figure(value, Some([value - half, value + half]), blocks);
        assert_eq!(shown(22.512, 90.0, 2), ("22.5".to_owned(), None));
        assert_eq!(shown(29.13, 11.0, 2), ("29.1".to_owned(), None));
        assert_eq!(shown(20.0, 50.0, 5), ("20.0".to_owned(), None));
        assert_eq!(shown(29.13, 1.1, 3), ("29.1".to_owned(), Some("1.1".to_owned())));
        assert_eq!(shown(0.1, 0.3, 12), ("0.10".to_owned(), Some("0.30".to_owned())));
        assert_eq!(shown(5.0, 0.0, 2).1.as_deref(), Some("0.000"));
        assert_eq!(figure(34.213_1, None, 1), ("34.21".to_owned(), None));
        assert_eq!(short_ratio(0.991_234, [0.991_2, 0.991_3]), "0.991");
        assert_eq!(short_ratio(0.042_1, [0.02, 0.08]), "0.042");
    }

    #[test]
    fn ends_have_the_digits_of_their_width() {
        assert_eq!(round_ends([0.9051, 0.9202]), ["0.905", "0.920"]);
        assert_eq!(round_ends([-0.0004, 0.31]), ["0.00", "0.31"]);
    }

    #[test]
    fn percentages_and_p_values_are_short() {
        assert_eq!([percent(0.02), percent(0.005), percent(0.25)], ["2 %", "0.5 %", "25 %"]);
        assert_eq!([p_value(0.000_2), p_value(0.04)], ["<0.001", "0.040"]);
    }

    #[test]
    fn decimal_points_stand_under_each_other() {
        let aligned =
            align(&["34.21".to_owned(), "5.2".to_owned(), "120".to_owned(), String::new()]);
        assert_eq!(aligned, [" 34.21", "  5.2 ", "120   ", "      "]);
    }

    proptest! {
        #[test]
        fn rounding_never_moves_a_value_out_of_its_interval(value in -1e6f64..1e6, half in 1e-3f64..1e5) {
            let text = round_with_interval(value, Some([value - half, value + half])).0;
            let shown: f64 = text.parse().unwrap();
            let finest = 10f64.powf(value.abs().max(1e-9).log10().floor() - 5.0);
            prop_assert!((shown - value).abs() <= half.max(finest), "{value} ± {half}: {text}");
        }

        #[test]
        fn no_number_breaks_the_rounding(value in any::<f64>(), low in any::<f64>(), high in any::<f64>()) {
            prop_assert!(!round_with_interval(value, Some([low, high])).0.is_empty());
        }
    }
}
