//! Data rates, as users spell them: `970mbit`, `2.5gbit`.

use std::fmt;
use std::str::FromStr;

/// Units, largest first, each with its bits per second. They are decimal, as everywhere in networking.
const UNITS: [(&str, u64); 3] = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)];

/// Data rate in bits per second, a whole number of kbit/s from 8 kbit/s to 1000 Gbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(u64);

/// Error for a rate that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// The text is not a number with a unit.
    #[error("invalid rate `{0}`: expected a number with kbit, mbit or gbit, for example 970mbit")]
    Unreadable(String),
    /// The number has a unit, but no link has this rate.
    #[error("invalid rate `{0}`: expected a whole number of kbit/s from {min} to {max}", min = BitsPerSecond::MIN, max = BitsPerSecond::MAX)]
    Range(String),
}

impl BitsPerSecond {
    /// Slowest rate: a thousand bytes per second.
    pub const MIN: Self = Self(8_000);
    /// Fastest rate, above that of every Ethernet of today.
    pub const MAX: Self = Self(1_000_000_000_000);

    /// Returns the number of bits per second.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes per second.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0 / 8
    }
}

impl FromStr for BitsPerSecond {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let unreadable = || RateError::Unreadable(text.to_owned());
        let (number, unit) = UNITS
            .iter()
            .find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit)))
            .ok_or_else(unreadable)?;
        // `parse` also accepts exponents, signs and infinity.
        if !number.chars().all(|one| one.is_ascii_digit() || one == '.') {
            return Err(unreadable());
        }
        let number: f64 = number.parse().map_err(|_| unreadable())?;
        let kilobits = number * unit as f64 / 1e3;
        let allowed = (Self::MIN.0 as f64 / 1e3)..=(Self::MAX.0 as f64 / 1e3);
        // A decimal fraction such as 0.1 is not exact in binary, but a thousandth of a kbit/s is precise enough.
        let is_whole = (kilobits - kilobits.round()).abs() < 1e-3;
        if is_whole && allowed.contains(&kilobits.round()) {
            Ok(Self(kilobits.round() as u64 * 1_000))
        } else {
            Err(RateError::Range(text.to_owned()))
        }
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) =
            UNITS.into_iter().find(|(_, unit)| self.0.is_multiple_of(*unit)).unwrap_or(("bit", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_decimal() {
        let rate = |text: &str| text.parse::<BitsPerSecond>().unwrap();
        assert_eq!(rate("970mbit").bits(), 970_000_000);
        assert_eq!(rate("100mbit").bytes(), 12_500_000);
        assert_eq!(rate("1gbit"), rate("1000mbit"));
        assert_eq!(rate("2.5gbit").to_string(), "2500mbit");
        assert_eq!(rate("0.1gbit").to_string(), "100mbit");
        assert_eq!(rate("1000gbit"), BitsPerSecond::MAX);
        assert_eq!(rate("8kbit"), BitsPerSecond::MIN);
    }

    #[test]
    fn what_is_no_rate_or_absurd_is_refused() {
        for text in ["", "mbit", "100", "-1mbit", "+1mbit", "1e3mbit", "infgbit", "1 mbit", "1Mbit"]
        {
            let error = text.parse::<BitsPerSecond>().unwrap_err();
            assert_eq!(error, RateError::Unreadable(text.to_owned()));
        }
        for text in ["0mbit", "7kbit", "8.5kbit", "1001gbit", "99999999999999999999gbit"] {
            let error = text.parse::<BitsPerSecond>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "invalid rate `{text}`: expected a whole number of kbit/s from 8kbit to 1000gbit"
                )
            );
        }
    }

    proptest! {
        #[test]
        fn a_rate_reads_as_it_is_written(kilobits in 8_u64..=1_000_000_000) {
            let rate = BitsPerSecond(kilobits * 1_000);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "[0-9.kmgbit]{0,12}") {
            if let Ok(rate) = text.parse::<BitsPerSecond>() {
                prop_assert!((BitsPerSecond::MIN..=BitsPerSecond::MAX).contains(&rate));
            }
        }
    }
}
