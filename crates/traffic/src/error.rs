//! Errors of traffic: one line each, with what failed, why and, if known, the remedy.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Failure of a workload, an agent or a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller cancelled the trial.
    #[error("interrupted")]
    Cancelled,
    /// Unknown name of a workload.
    #[error("unknown workload `{name}`: the workloads are {known}")]
    UnknownWorkload {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// Parameter that the workload does not have.
    #[error("{workload} has no parameter `{name}`: valid parameters: {known}")]
    UnknownParameter {
        /// Name of the workload.
        workload: &'static str,
        /// The requested parameter.
        name: String,
        /// The workload's parameters.
        known: String,
    },
    /// Invalid value of a parameter.
    #[error("{workload}: invalid value `{given}` for {name}: expected {allowed}")]
    BadParameter {
        /// Name of the workload.
        workload: &'static str,
        /// Name of the parameter.
        name: &'static str,
        /// The invalid value.
        given: String,
        /// Description of the valid values.
        allowed: String,
    },
    /// Trial that cannot be done on this topology.
    #[error("{0}")]
    Job(String),
    /// Failure to start an agent.
    #[error(transparent)]
    Container(#[from] tare_network::Error),
    /// Agent that reported a failure, exited, or sent an invalid reply.
    #[error("{container}: {why}")]
    Agent {
        /// Container in which the agent runs.
        container: String,
        /// Description of the failure.
        why: String,
    },
    /// Agent that did not answer in time.
    #[error(
        "{container}: the agent did not answer the order `{order}` within {waited:?}: the network lost the answer, or the machine is overloaded: check the network, or stop other load"
    )]
    Deadline {
        /// Container in which the agent runs.
        container: String,
        /// The order without an answer.
        order: &'static str,
        /// Time waited for the answer.
        waited: Duration,
    },
    /// Listener without a token on an address that is not loopback.
    #[error(
        "cannot listen on {address} without a token: every host that reaches this address could use this machine's network: set a token with --token-file, --token or TARE_TOKEN, or bind to a loopback address"
    )]
    NoToken {
        /// Address on which it was to listen.
        address: SocketAddr,
    },
    /// Address beyond loopback that is to be used with a token which can be guessed.
    #[error(
        "cannot use a token of fewer than 16 characters with {address}: who records one connection can guess it: create one with `openssl rand -hex 16`"
    )]
    ShortToken {
        /// Address of the listener.
        address: SocketAddr,
    },
    /// Listener that refused a request, or could not be reached.
    #[error("listener {listener}: {why}")]
    Listener {
        /// Address of the listener.
        listener: SocketAddr,
        /// Description of the failure.
        why: String,
    },
    /// Operation that the kernel refused.
    #[error("cannot {what}: {source}")]
    Io {
        /// Description of the operation, an infinitive without `to`: it follows "cannot".
        what: String,
        /// Error of the kernel.
        source: io::Error,
    },
    /// Latencies that a histogram could not record.
    #[error(transparent)]
    Histogram(#[from] tare_record::HistogramError),
}

impl Error {
    /// Creates the error of a workload that cannot run in slices.
    pub fn not_in_slices() -> Self {
        Self::Job("cannot run this workload in slices: use --slice off".to_owned())
    }

    /// Creates an I/O error of this operation.
    pub fn io(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io { what: what.into(), source: source.into() }
    }
}
