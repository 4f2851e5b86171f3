//! Lines of a journal that cannot be read.

use crate::counted;
use crate::finding::kind::{FindingKind, FindingScope, FindingWeight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Lines of the journal cannot be read, and are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadLines {
    /// Numbers of the lines, from 1.
    pub lines: Vec<u64>,
    /// Error of the parser at the first of them.
    pub reason: String,
}

impl fmt::Display for UnreadLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, reason } = self;
        let first = lines.first().unwrap_or(&0);
        write!(
            f,
            "{} of the journal cannot be read, with what was in it, so that figures lack it: line {first}: {reason}",
            counted(lines.len() as u64, "line", "lines")
        )
    }
}

impl FindingKind for UnreadLines {
    fn weight(&self) -> FindingWeight {
        FindingWeight::Reading
    }

    fn severity(&self) -> f64 {
        self.lines.len() as f64
    }

    fn scope(&self) -> FindingScope {
        FindingScope::Machine
    }
}
