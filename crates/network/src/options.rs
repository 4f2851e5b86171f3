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
    /// With its rules, but without connection tracking.
    Untracked,
    /// Its containers' MTU.
    Mtu,
    /// Received packets spread over all cores.
    Rps,
}

impl NetworkOption {
    /// All there are.
    pub const ALL: [Self; 7] = [
        Self::Plain,
        Self::Rate,
        Self::Without,
        Self::Unconfined,
        Self::Untracked,
        Self::Mtu,
        Self::Rps,
    ];

    /// Those of a network that tare wires and filters itself, and that rewrites no addresses.
    pub const WIRED: [Self; 6] =
        [Self::Plain, Self::Rate, Self::Without, Self::Untracked, Self::Mtu, Self::Rps];

    /// Those of a network that tare wires with cables.
    pub const CABLED: [Self; 4] = [Self::Rate, Self::Without, Self::Mtu, Self::Rps];

    /// Those of a network whose containers hang on an uplink.
    pub const HUNG: [Self; 3] = [Self::Without, Self::Mtu, Self::Rps];

    /// What it does, in words.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Plain => "without netfilter",
            Self::Rate => "every container's link limited, in each direction",
            Self::Without => "an offload switched off on every device of the path",
            Self::Unconfined => "without the engine's seccomp and AppArmor profiles",
            Self::Untracked => "with its netfilter rules, without connection tracking",
            Self::Mtu => "the containers' MTU",
            Self::Rps => "received packets spread over all cores: receive packet steering",
        }
    }
}

impl fmt::Display for NetworkOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => write!(f, "+plain ({})", self.summary()),
            Self::Unconfined => write!(f, "+unconfined ({})", self.summary()),
            Self::Untracked => write!(f, "+untracked ({})", self.summary()),
            Self::Rps => write!(f, "+rps ({})", self.summary()),
            Self::Mtu => write!(f, "+mtu=BYTES ({}, as in +mtu=9000)", self.summary()),
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
    /// Whether its rules go without connection tracking (`+untracked`).
    pub untracked: bool,
    /// The containers' MTU, bytes (`+mtu=`); nothing for the shape's.
    pub mtu: Option<u32>,
    /// Whether received packets are spread over all cores (`+rps`).
    pub rps: bool,
}

impl Options {
    /// Whether an option was chosen.
    #[must_use]
    pub fn has(&self, option: NetworkOption) -> bool {
        match option {
            NetworkOption::Plain => self.plain,
            NetworkOption::Rate => self.rate.is_some(),
            NetworkOption::Without => !self.without.is_empty(),
            NetworkOption::Unconfined => self.unconfined,
            NetworkOption::Untracked => self.untracked,
            NetworkOption::Mtu => self.mtu.is_some(),
            NetworkOption::Rps => self.rps,
        }
    }

    /// The options that were chosen.
    pub fn chosen(&self) -> impl Iterator<Item = NetworkOption> {
        NetworkOption::ALL.into_iter().filter(|option| self.has(*option))
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plain {
            f.write_str("+plain")?;
        }
        self.rate.map_or(Ok(()), |rate| write!(f, "+rate={rate}"))?;
        self.without.iter().try_for_each(|offload| write!(f, "+without={offload}"))?;
        f.write_str(if self.unconfined { "+unconfined" } else { "" })?;
        f.write_str(if self.untracked { "+untracked" } else { "" })?;
        self.mtu.map_or(Ok(()), |mtu| write!(f, "+mtu={mtu}"))?;
        f.write_str(if self.rps { "+rps" } else { "" })
    }
}
