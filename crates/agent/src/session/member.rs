//! Members of a session.

/// Member of a session: a server or a client process, by the order in which its agent was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemberId(pub(super) usize);
