//! The one document that `--json` prints.

use crate::{Cell, Environment, Failure, Finding, Rerun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A network that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its name.
    pub network: String,
    /// Why not.
    pub reason: String,
    /// What would make it run.
    pub remedy: String,
}

impl Skipped {
    /// The same for people: networks that cannot run for one reason, with commas between their names, in one entry, where
    /// the first of them stood.
    #[must_use]
    pub fn grouped(skipped: &[Self]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for one in skipped {
            let same = |group: &&mut Self| group.reason == one.reason && group.remedy == one.remedy;
            match groups.iter_mut().find(same) {
                Some(group) => group.network = format!("{}, {}", group.network, one.network),
                None => groups.push(one.clone()),
            }
        }
        groups
    }
}

/// What ended the measuring. Never a verdict: looking at one while measuring inflates false alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// The number of blocks that the user or the study said.
    Blocks,
    /// The number of blocks that the pilot found for the asked precision.
    Precision,
    /// Confidence sequences as narrow as asked, which may be looked at after every block.
    Sequence,
    /// The time allowed.
    Budget,
    /// A signal.
    Interrupted,
    /// Every network under comparison broke.
    Failed,
}

impl fmt::Display for StoppedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "blocks",
            Self::Precision => "precision",
            Self::Sequence => "sequence",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        })
    }
}

/// Everything that a run says, derived from its journal alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// tare's version that measured.
    pub tare: String,
    /// The study's name.
    pub study: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// The machine.
    pub environment: Environment,
    /// The figures.
    pub cells: Vec<Cell>,
    /// Which real system each network is or stands for, by the network's name.
    #[serde(default)]
    pub stands_for: BTreeMap<String, String>,
    /// Networks that cannot run here.
    pub skipped: Vec<Skipped>,
    /// Networks that could run, and broke.
    pub failed: Vec<Failure>,
    /// What was noticed about the run as a whole.
    pub findings: Vec<Finding>,
    /// Whole blocks measured.
    pub blocks: u32,
    /// What ended the measuring; null while a run is unfinished or was killed.
    pub stopped_by: Option<StoppedBy>,
    /// What the study's source published, beside what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Rerun>,
}
