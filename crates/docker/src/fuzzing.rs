//! Fuzz targets for `fuzz/`: the parsers of what engines, containers and Docker's client say. Compiled only for fuzzing.

use crate::EngineAddress;
use crate::context::address_of_context;
use crate::image::elf::linkage;
use crate::run_owner::RunOwner;
use tare_netns_probe::parse_snapshot;

/// Reads a program's file.
pub fn program(bytes: &[u8]) {
    let _ = linkage(bytes);
}

/// Reads what tare finds in a container's network namespace.
pub fn snapshot(text: &str) {
    let _ = parse_snapshot(text);
}

/// Reads the metadata of a context, and a text as an engine's address and as the owner of a run.
pub fn context(text: &str) {
    let _ = address_of_context(text);
    let _ = text.parse::<EngineAddress>();
    let _ = text.parse::<RunOwner>();
}
