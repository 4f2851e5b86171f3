//! What can be wrong with a study: one line each, that says what, why and what to do.

use std::path::PathBuf;

/// A study that cannot be planned. All of these are bad usage: exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("study {path}: {source}; `tare list studies` names the built-in ones", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what a study looks like.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// The file, or the built-in study's name.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A network that no place has, or that does not take its options.
    #[error(transparent)]
    Network(#[from] tare_network::FindError),
    /// A network's spelling.
    #[error(transparent)]
    Spelling(#[from] tare_network::NameError),
    /// A label of no letters.
    #[error("`{given}` has no label: write LABEL=NAME, or NAME alone")]
    NoLabel {
        /// What was given.
        given: String,
    },
    /// The same label twice.
    #[error(
        "two networks have the label `{label}`: give one another, as in `--network x={label},y={label}`"
    )]
    Label {
        /// The label.
        label: String,
    },
    /// No network at all.
    #[error("no network to measure: name some by --network, or see `tare list networks`")]
    NoNetwork,
    /// A workload that nobody knows.
    #[error("unknown workload `{name}`: this build knows {known}")]
    Workload {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A section of a label that no network of the study has.
    #[error("a [[run]] names the network `{label}`: the study's networks are {labels}")]
    RunLabel {
        /// The label.
        label: String,
        /// The labels there are.
        labels: String,
    },
    /// Changes one at a time, in a study that says which networks are measured where.
    #[error(
        "a study with sections ([[run]]) measures the networks that it names: name yours by --network beside --ablate, without the study"
    )]
    AblateSections,
    /// Changes one at a time, and no network has any.
    #[error(
        "nothing can be changed one at a time: none of the networks takes such an option here; see `tare list networks`"
    )]
    NothingToAblate,
    /// No workload at all: a parameter's list of values is empty.
    #[error("no workload to measure: a list of a parameter's values is empty")]
    NoWorkload,
    /// A workload twice with the same parameters.
    #[error("{workload} stands twice with the same parameters: its trials could not be told apart")]
    Twice {
        /// The workload.
        workload: String,
    },
    /// A workload's parameter.
    #[error("{reason}")]
    Parameter {
        /// What is wrong, with the workload's name.
        reason: String,
    },
    /// A metric that no workload of the study measures.
    #[error("none of the workloads measures `{metric}`: they measure {measured}")]
    Metric {
        /// The metric.
        metric: String,
        /// What they measure.
        measured: String,
    },
    /// A baseline that is not under comparison.
    #[error("the baseline `{baseline}` is not in the run: its networks are {labels}")]
    Baseline {
        /// What was asked for.
        baseline: String,
        /// The labels there are.
        labels: String,
    },
    /// A number out of its range.
    #[error("{what} is {given}: {allowed}")]
    Range {
        /// Which key or flag.
        what: String,
        /// What was given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// Both `blocks` and stopping by a sequence.
    #[error(
        "a study has either blocks or stopping by a sequence, not both: one fixes how many blocks there are, the other ends with the precision"
    )]
    BlocksAndSequence,
    /// Both `blocks` and `precision`.
    #[error(
        "a study has either blocks or precision, not both: one fixes how many blocks there are, the other finds it"
    )]
    BlocksAndPrecision,
}

impl Error {
    /// A number out of its range.
    pub(crate) fn range(what: &str, given: impl ToString, allowed: &str) -> Self {
        Self::Range { what: what.to_owned(), given: given.to_string(), allowed: allowed.to_owned() }
    }
}
