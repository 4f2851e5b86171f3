//! `cargo xtask advisories`: looks up known vulnerabilities of all dependencies, where their database can be reached.

use crate::TaskResult;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::process::{Command, Stdio};

/// Manifests whose locked dependencies are looked up. The fuzz targets are a workspace of their own.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

/// Looks up the advisories, or says in one line that they were not looked up.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let mut fetch = deny(repository, MANIFESTS[0], &["fetch", "db"]);
    // Its own words fill a screen.
    let fetched = fetch.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !fetched.context("cannot start cargo deny: run `make check-tools`")?.success() {
        println!(
            "advisories: not looked up: the database of RustSec cannot be reached: run `make audit` where it can"
        );
        return Ok(TaskResult::Passed);
    }
    for manifest in MANIFESTS {
        let check = ["check", "--disable-fetch", "advisories"];
        if !deny(repository, manifest, &check)
            .status()
            .context("cannot start cargo deny")?
            .success()
        {
            return Ok(TaskResult::Failed);
        }
    }
    Ok(TaskResult::Passed)
}

fn deny(repository: &Repository, manifest: &str, task: &[&str]) -> Command {
    let mut command = repository.command("cargo");
    command.args(["deny", "--locked", "--manifest-path"]).arg(repository.path(manifest)).args(task);
    command
}
