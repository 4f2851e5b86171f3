//! Effects of single changes on a figure.

use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use crate::{AblationEffect, UnaccountedGap, ablation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Effects of single changes on the figure, and the part of the ratio to the baseline that none of them accounts
/// for. Effects do not add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AblationEffects {
    /// Effects of the changes, in the order of declaration of their factors.
    pub effects: Vec<AblationEffect>,
    /// The rest; `None` if no block has all figures, and for the baseline itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaccounted: Option<UnaccountedGap>,
}

impl fmt::Display for AblationEffects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { effects, unaccounted } = self;
        ablation::write_effects(f, effects, unaccounted.as_ref())
    }
}

impl FindingKind for AblationEffects {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Network
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Metric
    }

    fn subject(&self) -> String {
        self.to_string()
    }
}
