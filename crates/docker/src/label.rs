//! Label of everything that a run makes on an engine. Objects are removed by this label alone.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

/// Name of the label.
pub const RUN_LABEL: &str = "tare.run";

/// Value of the label: a number that no other run has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunId(String);

impl RunId {
    /// Makes the number of a new run.
    #[must_use]
    pub fn fresh() -> Self {
        // The hasher's keys are random, and the process id differs between two runs that start at the same moment.
        Self(format!("{:012x}", RandomState::new().hash_one(std::process::id()) >> 16))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_apart() {
        let (one, other) = (RunId::fresh(), RunId::fresh());
        assert_ne!(one, other);
        assert_eq!(one.to_string().len(), 12);
    }
}
