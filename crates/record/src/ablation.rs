//! One thing changed at a time: what each is worth, and what is left when all are told.

use crate::Offload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One thing of a network that can be changed by itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// Its netfilter rules, and with them connection tracking: off.
    Netfilter,
    /// Connection tracking, while its rules stay: off.
    Conntrack,
    /// Generic receive offload: off.
    Gro,
    /// Generic segmentation offload: off.
    Gso,
    /// TCP segmentation offload: off.
    Tso,
    /// Checksum offload, and with it TCP segmentation offload: off.
    Checksum,
    /// The MTU: [`Factor::JUMBO`] bytes.
    Mtu,
    /// Receive packet steering to all cores, which is off unless somebody asks for it: on.
    Rps,
}

/// A name that no factor has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown thing to change `{0}`: it is one of {names}", names = Factor::ALL.map(Factor::name).join(", "))]
pub struct UnknownFactor(pub String);

impl Factor {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::Netfilter,
        Self::Conntrack,
        Self::Gro,
        Self::Gso,
        Self::Tso,
        Self::Checksum,
        Self::Mtu,
        Self::Rps,
    ];

    /// The MTU of what Ethernet calls jumbo frames, bytes.
    pub const JUMBO: u32 = 9000;

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Netfilter => "netfilter",
            Self::Conntrack => "conntrack",
            Self::Gro => "gro",
            Self::Gso => "gso",
            Self::Tso => "tso",
            Self::Checksum => "checksum",
            Self::Mtu => "mtu",
            Self::Rps => "rps",
        }
    }

    /// Whether it is something that a network adds to the path, so that the change takes a cost away. Offloads and steering
    /// are no costs: what goes slower without them goes slower over the baseline, too.
    #[must_use]
    pub const fn is_added(self) -> bool {
        matches!(self, Self::Netfilter | Self::Conntrack | Self::Mtu)
    }

    /// How a network with the change is spelled: what stands after its name.
    #[must_use]
    pub fn option(self) -> String {
        match self {
            Self::Netfilter => "+plain".to_owned(),
            Self::Conntrack => "+untracked".to_owned(),
            Self::Mtu => format!("+mtu={}", Self::JUMBO),
            Self::Rps => "+rps".to_owned(),
            Self::Gro | Self::Gso | Self::Tso | Self::Checksum => {
                format!("+without={}", self.name())
            }
        }
    }

    /// The offload that it is, where it is one.
    #[must_use]
    pub const fn offload(self) -> Option<Offload> {
        match self {
            Self::Gro => Some(Offload::Gro),
            Self::Gso => Some(Offload::Gso),
            Self::Tso => Some(Offload::Tso),
            Self::Checksum => Some(Offload::Checksum),
            Self::Netfilter | Self::Conntrack | Self::Mtu | Self::Rps => None,
        }
    }
}

/// What was done, in words.
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mtu => write!(f, "with an MTU of {}", Self::JUMBO),
            Self::Rps => f.write_str("with receive packet steering"),
            off => write!(f, "without {}", off.name()),
        }
    }
}

impl FromStr for Factor {
    type Err = UnknownFactor;

    fn from_str(text: &str) -> Result<Self, UnknownFactor> {
        let unknown = || UnknownFactor(text.to_owned());
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(unknown)
    }
}

/// A network of a plan, and the same with one thing changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ablation {
    /// The network's label.
    pub label: String,
    /// What was changed, each with the label under which that is measured.
    pub variants: Vec<Variant>,
}

/// A network with one thing changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// What was changed.
    pub factor: Factor,
    /// Its label.
    pub label: String,
}

/// What one change makes of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// What was changed.
    pub factor: Factor,
    /// The figure with the change over the figure without it, paired within blocks.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// How many blocks have both.
    pub n: u32,
}

/// What of the ratio between the baseline and a network no change accounts for that takes away what the network adds
/// ([`Factor::is_added`]). Of each counts what it does to the network beyond what it does to the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unaccounted {
    /// The baseline's label.
    pub baseline: String,
    /// The baseline's figure over the network's, in the blocks that have all figures.
    pub gap: f64,
    /// The changes that count; connection tracking goes with netfilter where that does.
    pub counted: Vec<Factor>,
    /// What is left of the gap when it is divided by their effects.
    pub ratio: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// How many blocks have all figures.
    pub n: u32,
}

/// Writes what single changes make of a figure, and the rest.
pub(crate) fn told(
    f: &mut fmt::Formatter<'_>,
    effects: &[Effect],
    unaccounted: Option<&Unaccounted>,
) -> fmt::Result {
    let mut words = "changed one at a time: ";
    for Effect { factor, ratio, ci95: [low, high], .. } in effects {
        write!(f, "{words}×{ratio:.2} [{low:.2}, {high:.2}] {factor}")?;
        words = ", ";
    }
    match unaccounted {
        Some(Unaccounted { baseline, gap, counted, ratio, ci95: [low, high], .. }) => {
            let counted: Vec<&str> = counted.iter().map(|factor| factor.name()).collect();
            let counted = counted.join(" and ");
            write!(
                f,
                "; {baseline} is at ×{gap:.2}, of which {counted} leave ×{ratio:.2} [{low:.2}, {high:.2}] unaccounted: effects do not add up"
            )
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finding;

    #[test]
    fn factors_are_read_as_they_are_named() {
        for factor in Factor::ALL {
            assert_eq!(factor.name().parse(), Ok(factor));
            let json = serde_json::to_string(&factor).unwrap();
            assert_eq!(json, format!("\"{}\"", factor.name()));
        }
        let error = "lro".parse::<Factor>().unwrap_err().to_string();
        assert!(
            error.starts_with("unknown thing to change `lro`: it is one of netfilter, "),
            "{error}"
        );
    }

    #[test]
    fn effects_are_told_with_their_intervals_and_the_rest() {
        let effect =
            |factor, ratio| Effect { factor, ratio, ci95: [ratio - 0.1, ratio + 0.1], n: 5 };
        let effects = vec![effect(Factor::Netfilter, 1.2), effect(Factor::Mtu, 2.0)];
        let unaccounted = Some(Unaccounted {
            baseline: "host".to_owned(),
            gap: 3.0,
            counted: vec![Factor::Netfilter, Factor::Mtu],
            ratio: 1.25,
            ci95: [1.0, 1.5],
            n: 5,
        });
        assert_eq!(
            Finding::Ablated { effects, unaccounted }.to_string(),
            "changed one at a time: ×1.20 [1.10, 1.30] without netfilter, ×2.00 [1.90, 2.10] with an MTU of 9000; \
             host is at ×3.00, of which netfilter and mtu leave ×1.25 [1.00, 1.50] unaccounted: effects do not add up"
        );
    }
}
