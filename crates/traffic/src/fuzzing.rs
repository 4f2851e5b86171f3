//! Fuzz targets: parsers of messages from other processes, as functions of bytes that must neither panic nor contradict
//! themselves. Called from `fuzz/`; compiled for fuzzing only.

pub use crate::probe::fuzzing::{answers, conversation, messages};
pub use crate::tools::fuzzing::tool;

use crate::protocol::{AgentOrder, AgentReply, ControllerMessage, read_order};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Parses bytes as orders, plain and addressed, and as replies.
pub fn orders(bytes: &[u8]) {
    every_line_is_answered::<AgentOrder>(bytes);
    every_line_is_answered::<ControllerMessage>(bytes);
    for line in bytes.split(|&byte| byte == b'\n') {
        read_as_written::<AgentOrder>(line);
        read_as_written::<AgentReply>(line);
    }
}

/// Asserts that each line is read as exactly one order or one error, up to the end of the input.
fn every_line_is_answered<O: DeserializeOwned>(bytes: &[u8]) {
    let mut input = bytes;
    let mut read = 0;
    while let Ok(Some(_)) = read_order::<O>(&mut input) {
        read += 1;
    }
    let unfinished = bytes.last().is_some_and(|&byte| byte != b'\n');
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + usize::from(unfinished);
    assert_eq!(read, lines, "an order a line");
}

/// Parses a line, and asserts that the message is read back unchanged after writing. Returns `None` if the line is
/// invalid.
pub(crate) fn read_as_written<T>(line: &[u8]) -> Option<T>
where
    T: DeserializeOwned + Serialize + PartialEq + fmt::Debug,
{
    let message: T = serde_json::from_slice(line).ok()?;
    let written = serde_json::to_vec(&message).unwrap_or_default();
    let again = serde_json::from_slice::<T>(&written).ok();
    assert_eq!(again.as_ref(), Some(&message), "{}", String::from_utf8_lossy(&written));
    Some(message)
}
