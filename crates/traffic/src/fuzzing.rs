//! Fuzz target of the first bytes of a trial's connections and datagrams, and what the targets of several crates share.
//! Compiled for fuzzing only.

use crate::tcp::greeting::Greeting;
use crate::udp::header::DatagramHeader;
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

/// Reads bytes as what opens a connection of a trial, and as the head of a datagram of one, and asserts that both are
/// written as they were read.
pub fn greetings(bytes: &[u8]) {
    if let Some(head) = bytes.first_chunk()
        && let Some(greeting) = Greeting::parse(head)
    {
        assert_eq!(greeting.to_bytes(), *head);
    }
    if let Some(header) = DatagramHeader::read(bytes) {
        let mut written = bytes.to_vec();
        header.write(&mut written);
        assert_eq!(written, bytes);
    }
}
