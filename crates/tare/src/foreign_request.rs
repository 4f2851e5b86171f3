//! Requests of files of others, which only the user of this machine can grant.

use crate::output;
use std::fmt;

/// Request of a study file or of a journal that only the user of this machine can grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignRequest {
    /// Part of the plan that makes the request: `network exec:./mine.py`.
    pub(crate) subject: String,
    /// Action, with its object on this machine: `runs /home/me/mine.py`.
    pub(crate) action: String,
}

impl fmt::Display for ForeignRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.subject, self.action)
    }
}

/// Formats requests as a clause of an error: `network a runs x; network b runs y`.
pub(crate) fn join_requests(requests: &[ForeignRequest]) -> String {
    requests.iter().map(ForeignRequest::to_string).collect::<Vec<_>>().join("; ")
}

/// Says what `--allow-exec` allows.
pub(crate) fn announce_granted(requests: &[ForeignRequest]) {
    for request in requests {
        output::print_status(&format!("tare: allowed by --allow-exec: {request}"));
    }
}
