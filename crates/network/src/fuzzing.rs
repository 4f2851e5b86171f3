//! Fuzz targets for `fuzz/`: spellings of users and files, and counters of the kernel. Compiled only for fuzzing.

use crate::{Background, BitsPerSecond, NetworkSpec, NodeLink};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Parses a line as everything that is spelled on a command line or in a study, and asserts that what it means is read
/// back from how it is shown.
pub fn spellings(text: &str) {
    read_as_shown::<NetworkSpec>(text);
    read_as_shown::<NodeLink>(text);
    let _ = text.parse::<BitsPerSecond>();
    let _ = text.parse::<Background>();
}

/// Parses a text, and asserts that the value is read back unchanged from how it is shown.
fn read_as_shown<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let shown = value.to_string();
    assert_eq!(shown.parse::<T>().ok().as_ref(), Some(&value), "{text:?} is shown as {shown:?}");
}

pub use crate::procfs_counters::fuzzing::counters;
