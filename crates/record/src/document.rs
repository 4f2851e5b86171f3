//! Result document, the single JSON document that `--json` prints.

use crate::{Cell, Environment, Finding, NetworkFailure, Replication};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Network that cannot run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedNetwork {
    /// Network's name with its options; several names separated by commas after grouping.
    pub network: String,
    /// Reason why it cannot run.
    pub reason: String,
    /// Action that would make it run.
    pub remedy: String,
}

impl SkippedNetwork {
    /// Merges networks with the same reason and remedy into one entry for display. The entry stands where the first of
    /// them stood; its `network` lists their names, separated by commas.
    #[must_use]
    pub fn group_by_reason(skipped: &[Self]) -> Vec<Self> {
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

/// Condition that ended the measurement. It is never a verdict: checking a verdict while measuring inflates false
/// alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// The number of blocks that the user or the study fixed was measured.
    Blocks,
    /// The number of blocks that the pilot found for the requested precision was measured.
    Precision,
    /// The confidence sequences, which may be checked after every block, were as narrow as requested.
    Sequence,
    /// The time budget was used up.
    Budget,
    /// A signal interrupted the run.
    Interrupted,
    /// Every network under comparison failed.
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

/// Results of a run, derived from its journal alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of tare that measured.
    pub tare: String,
    /// Name of the study.
    pub study: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Machine on which the run was measured.
    pub environment: Environment,
    /// Results by network, workload, shape and metric.
    pub cells: Vec<Cell>,
    /// Real system that each network is or stands for, by network name.
    #[serde(default)]
    pub stands_for: BTreeMap<String, String>,
    /// Networks that cannot run on this machine.
    pub skipped: Vec<SkippedNetwork>,
    /// Networks that could run, and failed during the run.
    pub failed: Vec<NetworkFailure>,
    /// Findings about the run as a whole.
    pub findings: Vec<Finding>,
    /// Number of whole blocks measured.
    pub blocks: u32,
    /// Condition that ended the measurement; null while a run is unfinished or if it was killed.
    pub stopped_by: Option<StoppedBy>,
    /// Published figures and conclusions of the study's source, compared with the measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Replication>,
}
