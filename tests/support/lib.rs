//! Support of the end-to-end tests: the program under test, the machine as a user sees it, Docker Engines, a browser.
//!
//! Everything here ends with the test program, also when that is killed: programs are tied to it by the kernel, and
//! directories are removed by a shell that waits for its end.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that fails fails its test"
)]

pub mod chromium;
pub mod counts;
pub mod engine;
pub mod journal;
pub mod listening;
pub mod machine;
pub mod module;
pub mod program;
pub mod schema;
pub mod shared;
pub mod swarm;
pub mod worse;

pub use tare_dev::{Pair, Scratch, Seed, eventually};

use serde_json::Value;

/// Flags for trials that are as short as they may be, for tests that look at everything but the figures.
const SHORT: [&str; 4] = ["--duration", "300ms", "--interval", "10ms"];

/// The arguments of a run with trials as short as they may be.
pub fn short_run<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["run"], arguments, &SHORT].concat()
}

/// The elements of an array in a document.
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("`{key}` is a list in {value}"))
}

/// A text in a document.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {value}"))
}

/// The hops of a network in a document, as `place:name`.
pub fn hops(document: &Value, network: &str) -> Vec<String> {
    let cell = list(document, "cells")
        .iter()
        .find(|cell| cell["network"] == network)
        .unwrap_or_else(|| panic!("{network} is in {document}"));
    list(cell, "hops")
        .iter()
        .map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name")))
        .collect()
}
