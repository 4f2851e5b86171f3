//! Errors of a network's name with its options.

use crate::options::{NetworkOption, describe_options};
use crate::{InvalidFirewallBackend, InvalidRuntimeName, RateError, UnknownOffload};

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
    /// The value of an option is no number in its range.
    #[error("`{spelled}`: invalid {noun} `{given}`: expected a number from {least} to {most}")]
    Number {
        /// Name as the user spelled it.
        spelled: String,
        /// Noun of the number: `number of services`.
        noun: &'static str,
        /// Text that the user gave as the number.
        given: String,
        /// Smallest number.
        least: u32,
        /// Largest number.
        most: u32,
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
    /// Only one program can redirect.
    #[error("`{spelled}`: `+{}` and `+{}` exclude each other: use one of them", options[0], options[1])]
    TwoRedirects {
        /// Name as the user spelled it.
        spelled: String,
        /// Names of the options.
        options: [&'static str; 2],
    },
    /// There is no such offload.
    #[error("`{spelled}`: {source}")]
    Offload {
        /// Name as the user spelled it.
        spelled: String,
        /// Error of the offload.
        source: UnknownOffload,
    },
}
