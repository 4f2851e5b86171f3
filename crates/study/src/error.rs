//! Errors of studies: one line each, with what is wrong, why and what to do.

use std::path::PathBuf;

/// Error of planning a study. All of these are usage errors: exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("study {path}: {source}; `tare list studies` names the built-in ones", path = path.display())]
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
        "two networks have the label `{label}`: give one another, as in `--network x={label},y={label}`"
    )]
    Label {
        /// Label of both networks.
        label: String,
    },
    /// The study has no network.
    #[error("no network to measure: name some by --network, or see `tare list networks`")]
    NoNetwork,
    /// A workload is unknown.
    #[error("unknown workload `{name}`: this build knows {known}")]
    Workload {
        /// Requested name.
        name: String,
        /// Known workloads.
        known: String,
    },
    /// A section names a label that no network of the study has.
    #[error("a [[run]] names the network `{label}`: the study's networks are {labels}")]
    RunLabel {
        /// Label in the section.
        label: String,
        /// Labels of the study's networks.
        labels: String,
    },
    /// Changes one at a time are requested in a study whose sections name their networks.
    #[error(
        "a study with sections ([[run]]) measures the networks that it names: name yours by --network beside --ablate, without the study"
    )]
    AblateSections,
    /// Changes one at a time are requested, and none applies to any network.
    #[error(
        "nothing can be changed one at a time: none of the networks takes such an option here; see `tare list networks`"
    )]
    NothingToAblate,
    /// The study has no workload: a parameter's list of values is empty.
    #[error("no workload to measure: a list of a parameter's values is empty")]
    NoWorkload,
    /// A workload occurs twice with the same parameters.
    #[error("{workload} stands twice with the same parameters: its trials could not be told apart")]
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
    #[error("none of the workloads measures `{metric}`: they measure {measured}")]
    Metric {
        /// Name of the metric.
        metric: String,
        /// Metrics that the workloads measure.
        measured: String,
    },
    /// The baseline is not under comparison.
    #[error("the baseline `{baseline}` is not in the run: its networks are {labels}")]
    Baseline {
        /// Requested label.
        baseline: String,
        /// Labels of the networks.
        labels: String,
    },
    /// A value is out of its range.
    #[error("{what} is {given}: {allowed}")]
    Range {
        /// Name of the key or flag.
        what: String,
        /// Value as given.
        given: String,
        /// Allowed values, in words.
        allowed: String,
    },
    /// The study has both `blocks` and stopping by a sequence.
    #[error(
        "a study has either blocks or stopping by a sequence, not both: one fixes how many blocks there are, the other ends with the precision"
    )]
    BlocksAndSequence,
    /// The study has both `blocks` and `precision`.
    #[error(
        "a study has either blocks or precision, not both: one fixes how many blocks there are, the other finds it"
    )]
    BlocksAndPrecision,
}

impl Error {
    /// Creates an error for a value out of its range.
    pub(crate) fn range(what: &str, given: impl ToString, allowed: &str) -> Self {
        Self::Range { what: what.to_owned(), given: given.to_string(), allowed: allowed.to_owned() }
    }
}
