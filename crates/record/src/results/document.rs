//! Result document, the single JSON document that `--json` prints.

use crate::{
    Cell, Environment, Finding, InterimAnalysis, Nanos, NetworkFailure, Replication,
    SkippedNetwork, StoppedBy,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Mean duration of a block, ns, if the networks were woven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_time: Option<Nanos>,
    /// Planned analyses before the end of the run, at which decided networks left it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interim_analyses: Vec<InterimAnalysis>,
    /// Condition that ended the measurement; null while a run is unfinished or if it was killed.
    pub stopped_by: Option<StoppedBy>,
    /// Published figures and conclusions of the study's source, compared with the measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Replication>,
}
