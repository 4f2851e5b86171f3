//! What the end-to-end tests share: the program under test, a place for its files, and the machine as a user sees it.
//!
//! Everything here ends with the test program, also when that is killed: programs are tied to it by the kernel, and
//! directories are removed by a shell that waits for its end.

// Each test program has this module as its own copy, and uses the part of it that it needs.
#![allow(dead_code)]

pub(crate) mod chromium;
pub(crate) mod engine;
pub(crate) mod listening;
pub(crate) mod machine;
pub(crate) mod module;
pub(crate) mod pair;
pub(crate) mod program;
pub(crate) mod schema;
pub(crate) mod scratch;
pub(crate) mod swarm;
pub(crate) mod worse;

use serde_json::Value;

/// Flags for trials that are as short as they may be, for tests that look at everything but the figures.
const SHORT: [&str; 4] = ["--duration", "300ms", "--interval", "10ms"];

/// The arguments of a run with trials as short as they may be.
pub(crate) fn short_run<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["run"], arguments, &SHORT].concat()
}

/// The elements of an array in a document.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("`{key}` is a list in {value}"))
}

/// A text in a document.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {value}"))
}

/// The hops of a network in a document, as `place:name`.
pub(crate) fn hops(document: &Value, network: &str) -> Vec<String> {
    let cell = list(document, "cells")
        .iter()
        .find(|cell| cell["network"] == network)
        .unwrap_or_else(|| panic!("{network} is in {document}"));
    list(cell, "hops")
        .iter()
        .map(|hop| format!("{}:{}", text(hop, "place"), text(hop, "name")))
        .collect()
}
