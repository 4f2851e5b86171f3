//! An offered load, as users spell it: `200mbit` of payload, or `50kpps`.

use std::fmt;
use std::str::FromStr;

/// A unit: its name, what it counts, how many of the base unit it is.
type Unit = (&'static str, fn(u64) -> Load, u64);

/// The units, largest first of each kind. Decimal, as everywhere in networking.
const UNITS: [Unit; 7] = [
    ("gbit", Load::Bits, 1_000_000_000),
    ("mbit", Load::Bits, 1_000_000),
    ("kbit", Load::Bits, 1_000),
    ("mpps", Load::Packets, 1_000_000),
    ("kpps", Load::Packets, 1_000),
    ("pps", Load::Packets, 1),
    ("bit", Load::Bits, 1),
];

/// What a sender offers per second, of each client in all its flows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// Bits of payload.
    Bits(u64),
    /// Datagrams.
    Packets(u64),
}

/// A text that is no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no load: write a number with kbit, mbit, gbit, pps, kpps or mpps, as in 200mbit or 50kpps"
)]
pub struct LoadError(String);

impl Load {
    /// The most of either unit: beyond every network of today.
    const MOST: f64 = 1e13;

    /// Datagrams per second of this payload, bytes.
    #[must_use]
    pub fn packets_per_second(self, size: usize) -> f64 {
        match self {
            Self::Bits(bits) => bits as f64 / 8.0 / size.max(1) as f64,
            Self::Packets(packets) => packets as f64,
        }
    }
}

impl FromStr for Load {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let error = || LoadError(text.to_owned());
        let (number, kind, unit) = UNITS
            .iter()
            .find_map(|&(name, kind, unit)| Some((text.strip_suffix(name)?, kind, unit)))
            .ok_or_else(error)?;
        let amount = decimal(number).ok_or_else(error)? * unit as f64;
        let whole = amount.round();
        // A decimal fraction such as 0.1 is not exact in binary.
        if whole >= 1.0 && amount <= Self::MOST && (amount - whole).abs() < 1e-3 {
            Ok(kind(whole as u64))
        } else {
            Err(error())
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (amount, packets) = match *self {
            Self::Bits(bits) => (bits, false),
            Self::Packets(packets) => (packets, true),
        };
        let fits = |&&(name, _, unit): &&Unit| {
            name.ends_with("pps") == packets && amount.is_multiple_of(unit)
        };
        let (name, _, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[6]);
        write!(f, "{}{name}", amount / unit)
    }
}

/// A number of digits with at most one point among them.
pub(crate) fn decimal(text: &str) -> Option<f64> {
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
            ("200mbit", Load::Bits(200_000_000)),
            ("2.5gbit", Load::Bits(2_500_000_000)),
            ("50kpps", Load::Packets(50_000)),
            ("1.5mpps", Load::Packets(1_500_000)),
            ("7pps", Load::Packets(7)),
        ] {
            assert_eq!(text.parse(), Ok(load));
        }
        for bad in
            ["", "200", "mbit", "-1mbit", "1e3mbit", "0pps", "0.5pps", "infgbit", "99999gbit"]
        {
            assert!(bad.parse::<Load>().is_err(), "{bad} was taken");
        }
        assert!((Load::Bits(8_000_000).packets_per_second(1000) - 1000.0).abs() < 1e-9);
        assert!((Load::Packets(9).packets_per_second(1000) - 9.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(amount in 1u64..10_000_000_000_000, packets: bool) {
            let load = if packets { Load::Packets(amount) } else { Load::Bits(amount) };
            prop_assert_eq!(load.to_string().parse(), Ok(load));
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".{0,12}") {
            let _ = text.parse::<Load>();
        }
    }
}
