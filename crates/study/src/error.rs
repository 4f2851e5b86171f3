//! Errors of studies: one line each, with what is wrong, why and what to do.

use std::path::PathBuf;
use tare_record::InvalidPlan;

/// Error of planning a study. All of these are usage errors: exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the study {path}: {source}: name a TOML file, or a study from `tare list studies`", path = path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the read.
        source: std::io::Error,
    },
    /// The text is not a valid study.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// Path of the file, or name of the built-in study.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// Number of the column, from 1.
        column: usize,
        /// Message of the parser.
        message: String,
    },
    /// A network is unknown, or does not take its options.
    #[error(transparent)]
    Network(#[from] tare_network::FindError),
    /// The spelling of a network is invalid.
    #[error(transparent)]
    Spelling(#[from] tare_network::NetworkSpecError),
    /// The label of a network is empty.
    #[error("`{given}` has no label: write LABEL=NAME, or NAME alone")]
    NoLabel {
        /// Text as given.
        given: String,
    },
    /// Two networks have the same label.
    #[error(
        "two networks have the label `{label}`: give each its own label, for example `--network x={label},y={label}`"
    )]
    Label {
        /// Label of both networks.
        label: String,
    },
    /// The study has no network.
    #[error("no network to measure: use --network NAME; `tare list networks` shows the names")]
    NoNetwork,
    /// A workload is unknown.
    #[error("unknown workload `{name}`: choose one of {known}")]
    Workload {
        /// Requested name.
        name: String,
        /// Known workloads.
        known: String,
    },
    /// A section names a label that no network of the study has.
    #[error(
        "a [[run]] section names the network `{label}`, which the study does not have: choose from {labels}"
    )]
    RunLabel {
        /// Label in the section.
        label: String,
        /// Labels of the study's networks.
        labels: String,
    },
    /// Changes one at a time are requested in a study whose sections name their networks.
    #[error(
        "cannot apply --ablate to a study with sections ([[run]]): the sections name the networks to measure: use --network with --ablate, without the study"
    )]
    AblateSections,
    /// Changes one at a time are requested, and none applies to any network.
    #[error(
        "cannot apply --ablate: no network supports any of the requested changes here: see the options in `tare list networks`"
    )]
    NothingToAblate,
    /// The study has no workload: a parameter's list of values is empty.
    #[error(
        "no workload to measure: a parameter has an empty list of values: give at least one value"
    )]
    NoWorkload,
    /// A workload occurs twice with the same parameters.
    #[error(
        "the workload {workload} is listed twice with the same parameters: remove one, or change a parameter of one"
    )]
    Twice {
        /// Name of the workload.
        workload: String,
    },
    /// A parameter of a workload is invalid.
    #[error("{reason}")]
    Parameter {
        /// Reason, with the workload's name.
        reason: String,
    },
    /// None of the study's workloads measures the metric.
    #[error("none of the workloads measures `{metric}`: choose from {measured}")]
    Metric {
        /// Name of the metric.
        metric: String,
        /// Metrics that the workloads measure.
        measured: String,
    },
    /// The baseline is not under comparison.
    #[error("the baseline `{baseline}` is not in the run: choose one of {labels}")]
    Baseline {
        /// Requested label.
        baseline: String,
        /// Labels of the networks.
        labels: String,
    },
    /// A value is out of its range.
    #[error("invalid value `{given}` for {what}: expected {allowed}")]
    Range {
        /// Name of the key or flag.
        what: String,
        /// Value as given.
        given: String,
        /// Allowed values, in words.
        allowed: String,
    },
    /// A list of values is empty.
    #[error("the list of {what} is empty: give at least one value")]
    EmptyList {
        /// Name of the key or flag.
        what: String,
    },
    /// A link is set for a single node.
    #[error("cannot use the link `{link}`: one node has no links: use --nodes 2 or more")]
    OneNode {
        /// Link as given.
        link: String,
    },
    /// The study has both `blocks` and stopping by a sequence.
    #[error(
        "a study has either blocks or stopping by a sequence, not both: `blocks` fixes the number of blocks, a sequence stops at the precision: remove one of the two"
    )]
    BlocksAndSequence,
    /// The study has both `blocks` and `precision`.
    #[error(
        "a study has either blocks or precision, not both: `blocks` fixes the number of blocks, `precision` determines it: remove one of the two"
    )]
    BlocksAndPrecision,
}

impl From<InvalidPlan> for Error {
    fn from(InvalidPlan { what, given, allowed }: InvalidPlan) -> Self {
        Self::Range { what, given, allowed }
    }
}

impl Error {
    /// Creates an error for a value out of its range.
    pub(crate) fn range(what: &str, given: impl ToString, allowed: &str) -> Self {
        Self::Range { what: what.to_owned(), given: given.to_string(), allowed: allowed.to_owned() }
    }
}
