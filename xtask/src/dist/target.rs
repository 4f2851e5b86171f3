//! Targets that are published, with the name that each kind of package has for them.

use crate::repository::Repository;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Target of a build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DistTarget {
    /// Name of Rust's compiler.
    pub(crate) triple: &'static str,
    /// Name of the machine: `uname -m`, RPM, Python.
    pub(crate) machine: &'static str,
    /// Name of Debian, Docker and Kubernetes.
    pub(crate) debian: &'static str,
}

/// All targets that are published.
pub(crate) const TARGETS: [DistTarget; 2] = [
    DistTarget { triple: "x86_64-unknown-linux-musl", machine: "x86_64", debian: "amd64" },
    DistTarget { triple: "aarch64-unknown-linux-musl", machine: "aarch64", debian: "arm64" },
];

impl DistTarget {
    /// Returns true if this machine runs programs of the target.
    fn is_native(&self) -> bool {
        self.machine == std::env::consts::ARCH
    }

    /// Makes a command that runs a program of this target, by an emulator where this machine is of another kind.
    pub(crate) fn command(&self, repository: &Repository, program: &Path) -> Command {
        if self.is_native() {
            return repository.command(program);
        }
        let mut command = repository.command(format!("qemu-{}", self.machine));
        command.arg(program);
        command
    }
}

/// Parses the targets from their triples, or `host`. Without any, returns all.
pub(super) fn parse(arguments: &[String]) -> Result<Vec<&'static DistTarget>> {
    if arguments.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    arguments.iter().map(|argument| find(argument)).collect()
}

fn find(name: &str) -> Result<&'static DistTarget> {
    let is_named = |target: &&DistTarget| {
        if name == "host" { target.is_native() } else { target.triple == name }
    };
    let known = TARGETS.map(|target| target.triple).join(", ");
    let found = TARGETS.iter().find(is_named);
    found.with_context(|| format!("invalid target {name:?}: expected host, {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Vec<&'static str>> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Ok(parse(&words)?.iter().map(|target| target.triple).collect())
    }

    #[test]
    fn targets_are_read_by_name_and_all_are_the_default() {
        assert_eq!(parsed(&[]).unwrap(), TARGETS.map(|target| target.triple));
        let arm = "aarch64-unknown-linux-musl";
        assert_eq!(parsed(&[arm]).unwrap(), [arm]);
        let host = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        assert_eq!(parsed(&["host"]).unwrap(), [host]);
        let error = parsed(&["x86_64-unknown-linux-gnu"]).unwrap_err().to_string();
        assert!(error.contains("expected host, x86_64-unknown-linux-musl, aarch64"), "{error}");
    }
}
