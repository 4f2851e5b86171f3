//! Options of TCP sockets as the kernel granted them.

use tare_record::{Finding, Parameters};

/// Effective options of a side's sockets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GrantedOptions {
    /// Values by the parameters' names.
    pub(crate) parameters: Parameters,
    /// Findings for values that differ from the requested ones.
    pub(crate) findings: Vec<Finding>,
}
