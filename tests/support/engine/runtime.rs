//! Further OCI runtimes of an engine.

use crate::ScratchDirectory;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// Writes a program that starts a runtime with these flags. Returns the flag of dockerd that makes it known by this name.
pub fn runtime_flag(scratch: &ScratchDirectory, name: &str, command: &str) -> String {
    let program = scratch.path(name);
    fs::write(&program, format!("#!/bin/sh\nexec {command} \"$@\"\n")).expect("room for a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it may be changed");
    format!("--add-runtime={name}={}", program.display())
}
