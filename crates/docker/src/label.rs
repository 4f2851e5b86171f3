//! Labels of everything that a run makes on an engine. Objects are removed by their labels and their names: what is made
//! from a run's image inherits the labels.

use crate::run_owner::{OWNER_LABEL, RunOwner};
use std::collections::HashMap;
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

impl RunId {
    /// Returns the labels of everything that the run makes.
    #[must_use]
    pub fn labels(&self) -> HashMap<String, String> {
        let owner = RunOwner::current().to_string();
        HashMap::from([(RUN_LABEL.to_owned(), self.0.clone()), (OWNER_LABEL.to_owned(), owner)])
    }

    /// Returns the labels as one text, for what is marked in another way than by Docker's labels.
    pub(crate) fn mark(&self) -> String {
        format!("{RUN_LABEL}={} {OWNER_LABEL}={}", self.0, RunOwner::current())
    }

    /// Returns the beginning of the names of everything that the run makes, but for its image.
    pub(crate) fn name_prefix(run: &str) -> String {
        format!("tare-{run}-")
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
