//! What the fuzz targets of several crates share. Compiled for fuzzing only.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Parses a line, and asserts that the message is read back unchanged after writing. Returns `None` if the line is
/// invalid.
pub fn read_as_written<T>(line: &[u8]) -> Option<T>
where
    T: DeserializeOwned + Serialize + PartialEq + fmt::Debug,
{
    let message: T = serde_json::from_slice(line).ok()?;
    let written = serde_json::to_vec(&message).unwrap_or_default();
    let again = serde_json::from_slice::<T>(&written).ok();
    assert_eq!(again.as_ref(), Some(&message), "{}", String::from_utf8_lossy(&written));
    Some(message)
}
