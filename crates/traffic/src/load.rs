//! Offered load, as users write it: `200mbit` of payload, or `50kpps`.

use std::fmt;
use std::str::FromStr;

/// Unit of a load: its name, the variant it counts in, and its multiple of the base unit.
type LoadUnit = (&'static str, fn(u64) -> OfferedLoad, u64);

/// Units, largest first of each kind. Decimal, as everywhere in networking.
const UNITS: [LoadUnit; 7] = [
    ("gbit", OfferedLoad::Bits, 1_000_000_000),
    ("mbit", OfferedLoad::Bits, 1_000_000),
    ("kbit", OfferedLoad::Bits, 1_000),
    ("mpps", OfferedLoad::Packets, 1_000_000),
    ("kpps", OfferedLoad::Packets, 1_000),
    ("pps", OfferedLoad::Packets, 1),
    ("bit", OfferedLoad::Bits, 1),
];

/// Load that a client offers per second, in all its flows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OfferedLoad {
    /// Bits of payload per second.
    Bits(u64),
    /// Datagrams per second.
    Packets(u64),
}

/// Error of a text that is not a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid load `{0}`: expected a number with kbit, mbit, gbit, pps, kpps or mpps, for example 200mbit or 50kpps"
)]
pub struct OfferedLoadError(String);

impl OfferedLoad {
    /// Largest value in either unit: beyond every network of today.
    const MOST: f64 = 1e13;

    /// Returns datagrams per second, for datagrams of this payload size in bytes.
    #[must_use]
    pub fn packets_per_second(self, size: usize) -> f64 {
        match self {
            Self::Bits(bits) => bits as f64 / 8.0 / size.max(1) as f64,
            Self::Packets(packets) => packets as f64,
        }
    }
}

impl FromStr for OfferedLoad {
    type Err = OfferedLoadError;

    fn from_str(text: &str) -> Result<Self, OfferedLoadError> {
        let error = || OfferedLoadError(text.to_owned());
        let (number, kind, unit) = UNITS
            .iter()
            .find_map(|&(name, kind, unit)| Some((text.strip_suffix(name)?, kind, unit)))
            .ok_or_else(error)?;
        let amount = parse_decimal(number).ok_or_else(error)? * unit as f64;
        let whole = amount.round();
        // A decimal fraction such as 0.1 is not exact in binary.
        if whole >= 1.0 && amount <= Self::MOST && (amount - whole).abs() < 1e-3 {
            Ok(kind(whole as u64))
        } else {
            Err(error())
        }
    }
}

impl fmt::Display for OfferedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (amount, packets) = match *self {
            Self::Bits(bits) => (bits, false),
            Self::Packets(packets) => (packets, true),
        };
        let fits = |&&(name, _, unit): &&LoadUnit| {
            name.ends_with("pps") == packets && amount.is_multiple_of(unit)
        };
        let (name, _, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[6]);
        write!(f, "{}{name}", amount / unit)
    }
}

/// Parses digits with at most one decimal point. Returns `None` for any other text.
pub(crate) fn parse_decimal(text: &str) -> Option<f64> {
    // `parse` would also take exponents, signs and infinity.
    text.chars().all(|one| one.is_ascii_digit() || one == '.').then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loads_read_as_people_write_them() {
        for (text, load) in [
            ("200mbit", OfferedLoad::Bits(200_000_000)),
            ("2.5gbit", OfferedLoad::Bits(2_500_000_000)),
            ("50kpps", OfferedLoad::Packets(50_000)),
            ("1.5mpps", OfferedLoad::Packets(1_500_000)),
            ("7pps", OfferedLoad::Packets(7)),
        ] {
            assert_eq!(text.parse(), Ok(load));
        }
        for bad in
            ["", "200", "mbit", "-1mbit", "1e3mbit", "0pps", "0.5pps", "infgbit", "99999gbit"]
        {
            assert!(bad.parse::<OfferedLoad>().is_err(), "{bad} was taken");
        }
        assert!((OfferedLoad::Bits(8_000_000).packets_per_second(1000) - 1000.0).abs() < 1e-9);
        assert!((OfferedLoad::Packets(9).packets_per_second(1000) - 9.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(amount in 1u64..10_000_000_000_000, packets: bool) {
            let load = if packets { OfferedLoad::Packets(amount) } else { OfferedLoad::Bits(amount) };
            prop_assert_eq!(load.to_string().parse(), Ok(load));
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".{0,12}") {
            let _ = text.parse::<OfferedLoad>();
        }
    }
}
