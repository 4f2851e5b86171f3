//! Ablation: the effect of each single change to a network, and the part of the gap that no change accounts for.

use crate::Offload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Property of a network that can be changed by itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AblationFactor {
    /// Netfilter rules, and connection tracking with them: disabled.
    Netfilter,
    /// Connection tracking, with the rules kept: disabled.
    Conntrack,
    /// Generic receive offload: disabled.
    Gro,
    /// Generic segmentation offload: disabled.
    Gso,
    /// TCP segmentation offload: disabled.
    Tso,
    /// Checksum offload, and TCP segmentation offload with it: disabled.
    Checksum,
    /// MTU: set to [`AblationFactor::JUMBO`] bytes.
    Mtu,
    /// Receive packet steering to all cores, which is disabled by default: enabled.
    Rps,
}

/// Error for an unknown name of a factor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown factor `{0}`: expected one of {names}", names = AblationFactor::ALL.map(AblationFactor::name).join(", "))]
pub struct UnknownFactor(pub String);

impl AblationFactor {
    /// All factors.
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

    /// MTU of Ethernet jumbo frames, bytes.
    pub const JUMBO: u32 = 9000;

    /// Returns the name, as used in JSON and on the command line.
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

    /// Returns true if a network adds this property to the path, so that the change removes a cost. Offloads and
    /// steering are not costs: traffic that is slower without them is slower over the baseline, too.
    #[must_use]
    pub const fn is_network_cost(self) -> bool {
        matches!(self, Self::Netfilter | Self::Conntrack | Self::Mtu)
    }

    /// Returns the network option of the change, which follows the name of the network.
    #[must_use]
    pub fn option_suffix(self) -> String {
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

    /// Returns the offload that this factor disables, or `None` for other factors.
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

/// Writes the change in words.
impl fmt::Display for AblationFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mtu => write!(f, "with an MTU of {}", Self::JUMBO),
            Self::Rps => f.write_str("with receive packet steering"),
            off => write!(f, "without {}", off.name()),
        }
    }
}

impl FromStr for AblationFactor {
    type Err = UnknownFactor;

    fn from_str(text: &str) -> Result<Self, UnknownFactor> {
        let unknown = || UnknownFactor(text.to_owned());
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(unknown)
    }
}

/// Network of a plan with its variants, each with one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ablation {
    /// Label of the network.
    pub label: String,
    /// Variants of the network.
    pub variants: Vec<AblationVariant>,
}

impl Ablation {
    /// Returns true if a label is that of the network or of one of its variants.
    #[must_use]
    pub fn includes(&self, label: &str) -> bool {
        self.label == label || self.variants.iter().any(|variant| variant.label == label)
    }
}

/// Variant of a network with one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AblationVariant {
    /// Factor that is changed.
    pub factor: AblationFactor,
    /// Label of the variant.
    pub label: String,
}

/// Effect of one change on a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AblationEffect {
    /// Factor that is changed.
    pub factor: AblationFactor,
    /// Ratio of the figure with the change to the figure without it, paired within blocks.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    pub ci95: [f64; 2],
    /// Number of blocks that have both figures.
    pub n: u32,
}

/// Part of the ratio between the baseline and a network that remains after the changes which remove what the network
/// adds ([`AblationFactor::is_network_cost`]). The effect of a change is its effect on the network relative to its
/// effect on the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnaccountedGap {
    /// Label of the baseline.
    pub baseline: String,
    /// Ratio of the baseline's figure to the network's, in the blocks that have all figures.
    pub gap: f64,
    /// Factors taken into account; if netfilter is one of them, it includes connection tracking.
    pub counted: Vec<AblationFactor>,
    /// Ratio that remains when the gap is divided by the effects of these factors.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    pub ci95: [f64; 2],
    /// Number of blocks that have all figures.
    pub n: u32,
}

/// Writes the effects of single changes on a figure, and the part that is unaccounted for.
pub(crate) fn write_effects(
    f: &mut fmt::Formatter<'_>,
    effects: &[AblationEffect],
    unaccounted: Option<&UnaccountedGap>,
) -> fmt::Result {
    let mut words = "changed one at a time: ";
    for AblationEffect { factor, ratio, ci95: [low, high], .. } in effects {
        write!(f, "{words}×{ratio:.2} [{low:.2}, {high:.2}] {factor}")?;
        words = ", ";
    }
    match unaccounted {
        Some(UnaccountedGap { baseline, gap, counted, ratio, ci95: [low, high], .. }) => {
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
    use crate::finding::AblationEffects;

    #[test]
    fn factors_are_read_as_they_are_named() {
        for factor in AblationFactor::ALL {
            assert_eq!(factor.name().parse(), Ok(factor));
            let json = serde_json::to_string(&factor).unwrap();
            assert_eq!(json, format!("\"{}\"", factor.name()));
        }
        let error = "lro".parse::<AblationFactor>().unwrap_err().to_string();
        assert!(error.starts_with("unknown factor `lro`: expected one of netfilter, "), "{error}");
    }

    #[test]
    fn effects_are_told_with_their_intervals_and_the_rest() {
        let effect = |factor, ratio| AblationEffect {
            factor,
            ratio,
            ci95: [ratio - 0.1, ratio + 0.1],
            n: 5,
        };
        let effects =
            vec![effect(AblationFactor::Netfilter, 1.2), effect(AblationFactor::Mtu, 2.0)];
        let unaccounted = Some(UnaccountedGap {
            baseline: "host".to_owned(),
            gap: 3.0,
            counted: vec![AblationFactor::Netfilter, AblationFactor::Mtu],
            ratio: 1.25,
            ci95: [1.0, 1.5],
            n: 5,
        });
        assert_eq!(
            Finding::AblationEffects(AblationEffects { effects, unaccounted }).to_string(),
            "changed one at a time: ×1.20 [1.10, 1.30] without netfilter, ×2.00 [1.90, 2.10] with an MTU of 9000; \
             host is at ×3.00, of which netfilter and mtu leave ×1.25 [1.00, 1.50] unaccounted: effects do not add up"
        );
    }
}
