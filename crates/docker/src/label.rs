//! What marks everything that a run makes on an engine: one label, by which alone it is ever removed.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

/// The label's name.
pub const RUN: &str = "tare.run";

/// The label's value: a number that no other run has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunId(String);

impl RunId {
    /// A fresh one.
    #[must_use]
    pub fn fresh() -> Self {
        // The hasher's keys are random, and the process's number tells two of one moment apart.
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
