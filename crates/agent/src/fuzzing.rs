//! Fuzz target of the agent's protocol: bytes must neither cause a panic nor be read as something else when written
//! again. Called from `fuzz/`; compiled for fuzzing only.

use crate::protocol::{AgentOrder, AgentReply, ControllerMessage, read_order};
use serde::de::DeserializeOwned;
use tare_traffic::fuzzing::read_as_written;

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
