//! Errors of a network's name with its options, and the values that its options can have.

use crate::options::{NetworkOption, describe_options};
use crate::{InvalidFirewallBackend, InvalidRuntimeName, RateError, UnknownOffload};
use std::ops::RangeInclusive;

/// Range of MTUs in IP (RFC 791), bytes.
pub(crate) const MTUS: RangeInclusive<u32> = 68..=65_535;

/// Range of the number of idle containers.
pub(crate) const IDLE: RangeInclusive<u32> = 1..=60_000;

/// Range of the number of further published ports of a server.
pub(crate) const PORTS: RangeInclusive<u16> = 1..=1000;

/// Range of the number of services of a cluster.
pub(crate) const SERVICES: RangeInclusive<u16> = 1..=20_000;

/// Range of the number of network policies that select the servers.
pub(crate) const POLICIES: RangeInclusive<u16> = 1..=1000;

/// Error for a name that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkSpecError {
    /// There is no name before the options.
    #[error("invalid network `{0}`: expected a name before the options")]
    Empty(String),
    /// No network has the option.
    #[error("`{spelled}`: unknown option `+{option}`; the options are {all}", all = describe_options(&NetworkOption::ALL))]
    Option {
        /// Name as the user spelled it.
        spelled: String,
        /// Option without its `+`.
        option: String,
    },
    /// The option is repeated.
    #[error("`{spelled}`: `+{option}` is given twice: use it once")]
    Repeated {
        /// Name as the user spelled it.
        spelled: String,
        /// Name of the option.
        option: &'static str,
    },
    /// The rate is not valid.
    #[error("`{spelled}`: {source}")]
    Rate {
        /// Name as the user spelled it.
        spelled: String,
        /// Error of the rate.
        source: RateError,
    },
    /// No device can have the MTU.
    #[error("`{spelled}`: invalid MTU `{mtu}`: expected bytes from {least} to {most}", least = MTUS.start(), most = MTUS.end())]
    Mtu {
        /// Name as the user spelled it.
        spelled: String,
        /// Text that the user gave as the MTU.
        mtu: String,
    },
    /// No network has this number of idle containers.
    #[error("`{spelled}`: invalid number of idle containers `{idle}`: expected a number from {least} to {most}", least = IDLE.start(), most = IDLE.end())]
    Idle {
        /// Name as the user spelled it.
        spelled: String,
        /// Text that the user gave as the number.
        idle: String,
    },
    /// No server publishes this number of further ports.
    #[error("`{spelled}`: invalid number of ports `{ports}`: expected a number from {least} to {most}", least = PORTS.start(), most = PORTS.end())]
    Ports {
        /// Name as the user spelled it.
        spelled: String,
        /// Text that the user gave as the number.
        ports: String,
    },
    /// No cluster has this number of services.
    #[error("`{spelled}`: invalid number of services `{services}`: expected a number from {least} to {most}", least = SERVICES.start(), most = SERVICES.end())]
    Services {
        /// Name as the user spelled it.
        spelled: String,
        /// Text that the user gave as the number.
        services: String,
    },
    /// No pod has this number of network policies.
    #[error("`{spelled}`: invalid number of network policies `{policies}`: expected a number from {least} to {most}", least = POLICIES.start(), most = POLICIES.end())]
    Policies {
        /// Name as the user spelled it.
        spelled: String,
        /// Text that the user gave as the number.
        policies: String,
    },
    /// The runtime's name is none.
    #[error("`{spelled}`: {source}")]
    Runtime {
        /// Name as the user spelled it.
        spelled: String,
        /// Error of the name.
        source: InvalidRuntimeName,
    },
    /// Docker has no such firewall backend.
    #[error("`{spelled}`: {source}")]
    Firewall {
        /// Name as the user spelled it.
        spelled: String,
        /// Error of the backend.
        source: InvalidFirewallBackend,
    },
    /// There are no rules to choose.
    #[error("`{0}`: `+plain` leaves out the rules that `+firewall=` chooses: use one of them")]
    NoRules(String),
    /// There is no such offload.
    #[error("`{spelled}`: {source}")]
    Offload {
        /// Name as the user spelled it.
        spelled: String,
        /// Error of the offload.
        source: UnknownOffload,
    },
}
