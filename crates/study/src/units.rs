//! Time spans and shares in the notation of users: `10s`, `1m30s`, `2%`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::str::FromStr;
use tare_record::{Nanos, WarmUpPolicy};

/// Time span above zero, written `300ms`, `10s`, `1m30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct TimeSpan(pub Nanos);

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |expected: &str| {
            format!(
                "invalid time span `{text}`: expected {expected}, for example 300ms, 10s or 1m30s"
            )
        };
        let span: jiff::SignedDuration = text.parse().map_err(|_| bad("numbers with units"))?;
        match u64::try_from(span.as_nanos()) {
            Ok(nanos) if nanos > 0 => Ok(Self(Nanos(nanos))),
            Ok(_) => Err(bad("a time above zero")),
            Err(_) if span.is_negative() => Err(bad("a time above zero")),
            Err(_) => Err(bad("less than 584 years")),
        }
    }
}

/// Share between zero and one, exclusive, written `2%` or `0.02`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, JsonSchema)]
#[schemars(with = "String")]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "invalid share `{text}`: expected a share above 0 and below 100 %, for example 2% or 0.02"
            )
        };
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (text, 1.0),
        };
        let share = number.parse::<f64>().map_err(|_| bad())? / scale;
        if share > 0.0 && share < 1.0 { Ok(Self(share)) } else { Err(bad()) }
    }
}

/// Treatment of the warm-up of a trial, written `auto` or as a time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct WarmUpSpan(pub WarmUpPolicy);

impl FromStr for WarmUpSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(WarmUpPolicy::Auto)),
            span => span
                .parse::<TimeSpan>()
                .map(|span| Self(WarmUpPolicy::Fixed(span.0)))
                .map_err(|error| format!("{error}, or `auto`")),
        }
    }
}

/// Length of the slices in which networks are woven, written `auto`, `off` or as a time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub enum SliceLength {
    /// Trials run in one piece, one network after another.
    Off,
    /// The first blocks try several lengths, and the run goes on with the best.
    Auto,
    /// Slices of this length are counted.
    Span(Nanos),
}

impl FromStr for SliceLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const LEAST: Nanos = Nanos(5_000_000);
        const MOST: Nanos = Nanos(10_000_000_000);
        match text {
            "off" => return Ok(Self::Off),
            "auto" => return Ok(Self::Auto),
            _ => {}
        }
        match text.parse::<TimeSpan>() {
            Ok(TimeSpan(span)) if (LEAST..=MOST).contains(&span) => Ok(Self::Span(span)),
            _ => Err(format!(
                "invalid slice `{text}`: expected `auto`, `off`, or a time span from 5ms to 10s: a shorter slice would measure cold caches"
            )),
        }
    }
}

/// Deserializes a value that is written as text, through its `FromStr`.
fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for SliceLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

impl<'de> Deserialize<'de> for WarmUpSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_and_shares_read_as_people_write_them() {
        assert_eq!("300ms".parse::<TimeSpan>().unwrap().0, Nanos(300_000_000));
        assert_eq!("1m30s".parse::<TimeSpan>().unwrap().0, Nanos(90_000_000_000));
        assert!(("2%".parse::<Percent>().unwrap().0 - 0.02).abs() < 1e-12);
        assert!(("0.05".parse::<Percent>().unwrap().0 - 0.05).abs() < 1e-12);
        assert_eq!("auto".parse::<WarmUpSpan>().unwrap().0, WarmUpPolicy::Auto);
    }

    #[test]
    fn a_slice_is_off_or_not_too_short() {
        assert_eq!("off".parse(), Ok(SliceLength::Off));
        assert_eq!("auto".parse(), Ok(SliceLength::Auto));
        assert_eq!("20ms".parse(), Ok(SliceLength::Span(Nanos(20_000_000))));
        for refused in ["4ms", "11s", "Auto", ""] {
            assert!(refused.parse::<SliceLength>().is_err(), "{refused}");
        }
    }

    #[test]
    fn zero_negative_and_absurd_are_refused() {
        for span in ["0s", "-1s", "10", "", "soon", "99999999999999999h"] {
            assert!(span.parse::<TimeSpan>().is_err(), "{span} was taken");
        }
        for share in ["0%", "-1%", "100%", "NaN", "inf", "2", "%"] {
            assert!(share.parse::<Percent>().is_err(), "{share} was taken");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in ".{0,24}") {
            let _ = (text.parse::<TimeSpan>(), text.parse::<Percent>(), text.parse::<WarmUpSpan>());
        }
    }
}
