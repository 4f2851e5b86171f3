//! Offloads: work that devices do for the network stack, or that the stack saves by handling many packets as one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Offload that can be switched off, by its short name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// Generic receive offload: received packets are merged before the stack handles them.
    Gro,
    /// Generic segmentation offload: the stack segments a large packet just before it passes it to the device.
    Gso,
    /// TCP segmentation offload: the device segments a large packet, or passes it on whole.
    Tso,
    /// Checksum offload, in both directions: the device computes checksums, or they are not computed at all. `tso`
    /// depends on it.
    Checksum,
}

/// Error for an unknown name of an offload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown offload `{0}`: expected one of {names}", names = Offload::ALL.map(Offload::name).join(", "))]
pub struct UnknownOffload(pub String);

impl Offload {
    /// All offloads.
    pub const ALL: [Self; 4] = [Self::Gro, Self::Gso, Self::Tso, Self::Checksum];

    /// Returns the name, as used in JSON and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gro => "gro",
            Self::Gso => "gso",
            Self::Tso => "tso",
            Self::Checksum => "checksum",
        }
    }

    /// Returns the device features of this offload, as ethtool(8) names them.
    #[must_use]
    pub const fn features(self) -> &'static [&'static str] {
        match self {
            Self::Gro => &["gro"],
            Self::Gso => &["gso"],
            Self::Tso => &["tso"],
            Self::Checksum => &["tx", "rx"],
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Offload {
    type Err = UnknownOffload;

    fn from_str(text: &str) -> Result<Self, UnknownOffload> {
        let unknown = || UnknownOffload(text.to_owned());
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(unknown)
    }
}

/// Set of offloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offloads(u8);

impl Offloads {
    /// Empty set.
    pub const NONE: Self = Self(0);

    /// Returns the offloads of the set, always in the same order.
    pub fn iter(self) -> impl Iterator<Item = Offload> {
        Offload::ALL.into_iter().filter(move |one| self.contains(*one))
    }

    /// Returns true if the set contains an offload.
    #[must_use]
    pub const fn contains(self, offload: Offload) -> bool {
        self.0 & offload.bit() != 0
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set with one offload added.
    #[must_use]
    pub const fn with(self, offload: Offload) -> Self {
        Self(self.0 | offload.bit())
    }

    /// Returns the union of two sets.
    #[must_use]
    pub const fn union(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

impl FromIterator<Offload> for Offloads {
    fn from_iter<I: IntoIterator<Item = Offload>>(all: I) -> Self {
        all.into_iter().fold(Self::NONE, Self::with)
    }
}

/// Writes the names separated by commas: `gro, gso`.
impl fmt::Display for Offloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(Offload::name).collect::<Vec<_>>().join(", "))
    }
}

impl Serialize for Offloads {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Offloads {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Offload>::deserialize(deserializer).map(|all| all.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_set_is_read_and_written_as_a_list() {
        let set: Offloads = serde_json::from_str("[\"tso\", \"gro\", \"tso\"]").unwrap();
        assert_eq!(set.to_string(), "gro, tso");
        assert_eq!(serde_json::to_string(&set).unwrap(), "[\"gro\",\"tso\"]");
        let error = "lro".parse::<Offload>().unwrap_err().to_string();
        assert_eq!(error, "unknown offload `lro`: expected one of gro, gso, tso, checksum");
    }

    proptest! {
        #[test]
        fn a_set_holds_what_was_put_into_it(chosen in proptest::collection::vec(0_usize..4, 0..6)) {
            let all: Vec<Offload> = chosen.iter().map(|&index| Offload::ALL[index]).collect();
            let set: Offloads = all.iter().copied().collect();
            for one in Offload::ALL {
                prop_assert_eq!(set.contains(one), all.contains(&one));
            }
            prop_assert_eq!(set.is_empty(), all.is_empty());
            prop_assert_eq!(set.iter().collect::<Offloads>(), set);
        }
    }
}
