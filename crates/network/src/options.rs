//! What changes a network, spelled after a `+`.

use crate::{BitsPerSecond, Offload, Offloads};
use std::fmt;

/// An option that a network may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkOption {
    /// Without netfilter.
    Plain,
    /// Every container's link limited to a rate, in each direction.
    Rate,
    /// Offloads of its devices switched off.
    Without,
    /// Without the security profile that an engine gives its containers.
    Unconfined,
}

impl NetworkOption {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Rate, Self::Without, Self::Unconfined];

    /// Those of a network that tare wires and filters itself.
    pub const WIRED: [Self; 3] = [Self::Plain, Self::Rate, Self::Without];

    /// What it does, in words.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Plain => "without netfilter",
            Self::Rate => "every container's link limited, in each direction",
            Self::Without => "an offload switched off on every device of the path",
            Self::Unconfined => "without the engine's seccomp and AppArmor profiles",
        }
    }
}

impl fmt::Display for NetworkOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => write!(f, "+plain ({})", self.summary()),
            Self::Unconfined => write!(f, "+unconfined ({})", self.summary()),
            Self::Rate => write!(f, "+rate=RATE ({}, as in +rate=970mbit)", self.summary()),
            Self::Without => write!(
                f,
                "+without=OFFLOAD ({}: {}; may stand again)",
                self.summary(),
                Offload::ALL.map(Offload::name).join(", ")
            ),
        }
    }
}

/// Options as one line of prose, for those who may choose from them.
pub(crate) fn listed(options: &[NetworkOption]) -> String {
    options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What was chosen of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether netfilter is left out (`+plain`).
    pub plain: bool,
    /// To what every container's link is limited, in each direction (`+rate=`); nothing for as fast as it goes.
    pub rate: Option<BitsPerSecond>,
    /// Which offloads are switched off (`+without=`, once for each).
    pub without: Offloads,
    /// Whether an engine's security profile is left out (`+unconfined`).
    pub unconfined: bool,
}

impl Options {
    /// The options that were chosen.
    pub fn chosen(&self) -> impl Iterator<Item = NetworkOption> {
        let plain = self.plain.then_some(NetworkOption::Plain);
        let without = (!self.without.is_empty()).then_some(NetworkOption::Without);
        let unconfined = self.unconfined.then_some(NetworkOption::Unconfined);
        let rate = self.rate.map(|_| NetworkOption::Rate);
        plain.into_iter().chain(rate).chain(without).chain(unconfined)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plain {
            f.write_str("+plain")?;
        }
        self.rate.map_or(Ok(()), |rate| write!(f, "+rate={rate}"))?;
        self.without.iter().try_for_each(|offload| write!(f, "+without={offload}"))?;
        f.write_str(if self.unconfined { "+unconfined" } else { "" })
    }
}
