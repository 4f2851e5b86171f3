//! Units as types, so that the unit of a number is always known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Time span, or instant after an agreed zero, in whole nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Returns true for no time at all.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Returns the span in seconds, for rates.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns this share of the time, rounded.
    #[must_use]
    pub fn scaled(self, share: f64) -> Self {
        Self((self.0 as f64 * share).round() as u64)
    }

    /// Returns the span in microseconds, the unit in which latencies are shown.
    #[must_use]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Returns this span minus another, or zero if the other is longer.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the span with three significant digits, for people: `107ms` instead of `106.903102ms`.
    #[must_use]
    pub fn rounded(self) -> Self {
        let digits = self.0.checked_ilog10().unwrap_or(0) + 1;
        let step = 10u64.pow(digits.saturating_sub(3));
        Self((self.0.saturating_add(step / 2) / step).saturating_mul(step))
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from(*self))
    }
}

/// Formats a count with its noun: `1 sample`, `2 samples`.
#[must_use]
pub fn counted(count: impl Into<u64>, one: &str, many: &str) -> String {
    let count = count.into();
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_enough_for_people() {
        let words = |nanos| Nanos(nanos).rounded().to_string();
        assert_eq!([106_903_102, 2_000_000_000, 1_996_000_001].map(words), ["107ms", "2s", "2s"]);
        assert_eq!([0, 7, 999].map(words), ["0ns", "7ns", "999ns"]);
        assert_eq!(Nanos(u64::MAX).rounded(), Nanos(18_400_000_000_000_000_000));
    }
}
