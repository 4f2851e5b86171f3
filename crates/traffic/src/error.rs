//! What goes wrong with traffic: always one line that says what, why and, where it is known, what to do.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a workload, an agent or a session failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller asked to stop.
    #[error("interrupted")]
    Cancelled,
    /// No workload has this name.
    #[error("unknown workload `{name}`: the workloads are {known}")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The workload has no such parameter.
    #[error("{workload} has no parameter `{name}`: it has {known}")]
    UnknownParameter {
        /// The workload.
        workload: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A parameter's value makes no sense.
    #[error("{workload}: `{given}` is no {name}: it is {allowed}")]
    BadParameter {
        /// The workload.
        workload: &'static str,
        /// The parameter.
        name: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// A job that cannot be done on this topology.
    #[error("{0}")]
    Job(String),
    /// An agent could not be started.
    #[error(transparent)]
    Container(#[from] tare_network::Error),
    /// An agent said what failed, or ended, or spoke nonsense.
    #[error("{container}: {why}")]
    Agent {
        /// The container it runs in.
        container: String,
        /// What happened.
        why: String,
    },
    /// An agent did not answer.
    #[error(
        "{container}: no answer to `{order}` within {waited:?}; the network lost it, or the machine is overloaded"
    )]
    Deadline {
        /// The container it runs in.
        container: String,
        /// The order that was not answered.
        order: &'static str,
        /// How long was waited.
        waited: Duration,
    },
    /// A listener that anybody could use.
    #[error(
        "listen on {address}: whoever reaches it could use this machine's network: ask for a token by --token-file, --token or TARE_TOKEN, or bind to a loopback address"
    )]
    NoToken {
        /// Where it should listen.
        address: SocketAddr,
    },
    /// A listener did not do what it was asked, or could not be reached.
    #[error("{listener}: {why}")]
    Listener {
        /// Its address.
        listener: SocketAddr,
        /// What happened.
        why: String,
    },
    /// The kernel refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it was refused.
        source: io::Error,
    },
    /// Latencies could not be kept.
    #[error(transparent)]
    Histogram(#[from] tare_record::HistogramError),
}

impl Error {
    /// An error of the kernel's while doing something.
    pub(crate) fn io(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io { what: what.into(), source: source.into() }
    }
}
