//! What goes wrong when a network is raised or a program is started in it.

/// One line for the user: what failed, why, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Error {
    /// What was being done.
    pub what: String,
    /// Why it failed.
    pub why: String,
    /// What the user can do about it; empty when nothing is known.
    pub remedy: String,
}

impl Error {
    /// An error whose remedy is not known.
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string(), remedy: String::new() }
    }

    /// The same error with a remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}
