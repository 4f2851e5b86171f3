//! Error of setting up a network or of starting a program in it.

/// Error of an action: what failed, the reason and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {what}: {why}")]
pub struct Error {
    /// Action that failed: a verb phrase that follows "cannot", such as `start the container web`.
    pub what: String,
    /// Reason why it failed.
    pub why: String,
    /// Remedy for the user. Empty if none is known.
    pub remedy: String,
}

impl Error {
    /// Returns an error without a remedy.
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string(), remedy: String::new() }
    }

    /// Returns the same error with a remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}
