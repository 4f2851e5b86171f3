//! Fuzz target of the answers of programs that make networks.

use super::exec::ExecResponse;

/// Reads the answer of a program that made a network.
pub fn exec_answer(text: &str) {
    let _ = serde_json::from_str::<ExecResponse>(text);
}
