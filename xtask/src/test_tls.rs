//! `cargo xtask test-tls`: tests of engines behind TLS, with a tare that was built for them. That build compiles C, so
//! it targets the host, separate from the binary of all other tests.

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use crate::toolchain;
use anyhow::Result;
use std::process::Command;

/// Feature of tare and of its tests.
const FEATURE: &str = "docker-tls";

/// Builds tare and its tests with the feature, and runs those tests.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let host = toolchain::host(repository)?;
    process::run(&mut build(repository, &host))?;
    let status = process::run_for_status(&mut test(repository, &host))?;
    Ok(TaskResult::from_success(status.success()))
}

fn build(repository: &Repository, host: &str) -> Command {
    let mut command = cargo(repository);
    command.args(["build", "--locked", "--profile", "fast", "--target", host]);
    command.args(["--package", "tare", "--features", FEATURE]);
    command
}

fn test(repository: &Repository, host: &str) -> Command {
    let mut command = cargo(repository);
    command.env("TARE_BINARY", repository.target().join(host).join("fast/tare"));
    command.args(["nextest", "run", "--locked", "--cargo-profile", "fast", "--target", host]);
    command.args(["--package", "tare-tests", "--features", FEATURE, "--ignore-default-filter"]);
    command.args(["-E", "binary(=engines) & test(/^docker_tls::/)"]);
    command
}

/// Makes a cargo command that links statically: the tests copy the binary into containers.
fn cargo(repository: &Repository) -> Command {
    let mut command = repository.command("cargo");
    command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_tests_drive_the_binary_of_that_build() {
        let repository = Repository::find().unwrap();
        let command = test(&repository, "a-b");
        let binary = command.get_envs().find(|(name, _)| *name == OsStr::new("TARE_BINARY"));
        let binary = binary.unwrap().1.unwrap().to_str().unwrap();
        assert!(binary.ends_with("/a-b/fast/tare"), "{binary}");
    }
}
