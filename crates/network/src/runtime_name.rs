//! Name of an OCI runtime, as an engine knows it, or of a cluster's runtime class.

use std::fmt;
use std::str::FromStr;

/// Longest name, bytes.
const LONGEST: usize = 31;

/// Name of an OCI runtime, as an engine knows it, or of a cluster's runtime class: `runc`, `crun`, `runsc`,
/// `io.containerd.kata.v2`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuntimeName {
    bytes: [u8; LONGEST],
    length: u8,
}

/// Text that is no name of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid runtime `{0}`: expected letters, digits, `-`, `_` and `.`, at most {LONGEST} of them"
)]
pub struct InvalidRuntimeName(String);

impl RuntimeName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        // Only ASCII is accepted.
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl FromStr for RuntimeName {
    type Err = InvalidRuntimeName;

    fn from_str(text: &str) -> Result<Self, InvalidRuntimeName> {
        let wrong = || InvalidRuntimeName(text.to_owned());
        let is_allowed = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'-' | b'_' | b'.');
        if text.is_empty() || !text.bytes().all(is_allowed) {
            return Err(wrong());
        }
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..text.len()).ok_or_else(wrong)?.copy_from_slice(text.as_bytes());
        Ok(Self { bytes, length: u8::try_from(text.len()).map_err(|_| wrong())? })
    }
}

impl fmt::Display for RuntimeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RuntimeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuntimeName({:?})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_names_are_accepted() {
        for text in ["", "a b", "/usr/bin/runc", "a+b", "é", &"r".repeat(LONGEST + 1)] {
            assert!(text.parse::<RuntimeName>().is_err(), "{text}");
        }
        assert_eq!("r".repeat(LONGEST).parse::<RuntimeName>().unwrap().as_str().len(), LONGEST);
    }

    proptest! {
        #[test]
        fn a_name_reads_as_it_is_written(text in "[a-zA-Z0-9._-]{1,31}") {
            prop_assert_eq!(text.parse::<RuntimeName>().unwrap().to_string(), text);
        }
    }
}
