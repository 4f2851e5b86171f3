//! Lines of a journal.

use crate::{
    Environment, Finding, InterimAnalysis, NetworkFailure, NetworkTurn, Phase, Plan, Sizing,
    StoppedBy, Trial,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// File name of the journal in a run's directory.
pub const FILE: &str = "journal.jsonl";

/// Version of the journal format. Readers reject any other version.
pub const FORMAT: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// First line: the plan and the machine.
    Run(Box<RunHeader>),
    /// Number of blocks of the main phase.
    Sizing(Sizing),
    /// One trial.
    Trial(Box<Trial>),
    /// End of a network's turn in a block.
    Turn(NetworkTurn),
    /// Planned analysis before the end of the run.
    InterimAnalysis(InterimAnalysis),
    /// Failure of a network; it is left out of the rest of the run.
    Failure(NetworkFailure),
    /// Continuation of a run. What was written before this line of this block and later ones, and of later phases, is
    /// void: trials, turns, failures, and what was decided from them.
    Resumed(ResumePoint),
    /// End of the measurement.
    End(RunEnd),
}

/// First line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// Version of the journal format.
    pub format: u32,
    /// Plan of the run.
    pub plan: Plan,
    /// Machine on which the run is measured.
    pub environment: Environment,
    /// Findings from before the first trial.
    pub findings: Vec<Finding>,
}

/// Point at which a run continues that was cut off, or in which a network failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumePoint {
    /// Phase of the first block that is run again.
    pub phase: Phase,
    /// Number of the first block that is run again.
    pub block: u32,
    /// Time of the continuation, RFC 3339, UTC.
    pub time: String,
}

/// Last line of a journal of a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// Condition that ended the measurement.
    pub stopped_by: StoppedBy,
}
