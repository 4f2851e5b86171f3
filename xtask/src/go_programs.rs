//! `cargo xtask programs`: builds Go programs into `target/tools/bin` with Go's own tools, from Go's module proxy:
//! programs of the real systems that networks stand for, and of a workload, that no distribution has in these versions.
//! A program that is present in its version is not built again.

use crate::TaskResult;
use crate::go_module;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest Go version that builds all programs.
const OLDEST_GO: &str = "1.23.1";

/// Origin of a program's modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModuleSource {
    /// The package itself, with the versions of its own `go.mod`.
    Proxy,
    /// Module of this repository that pins the dependencies: the versions that the program itself chose are no longer
    /// available.
    Pinned(&'static str),
}

/// Program to build.
struct GoProgram {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    source: ModuleSource,
    /// `CGO_ENABLED`: 1 if the program has a part in C.
    cgo: &'static str,
}

const PROGRAMS: [GoProgram; 4] = [
    // The UDP backend of flanneld is in C.
    GoProgram {
        name: "flanneld",
        package: "github.com/flannel-io/flannel",
        version: "v0.25.7",
        source: ModuleSource::Proxy,
        cgo: "1",
    },
    GoProgram {
        name: "wireguard-go",
        package: "golang.zx2c4.com/wireguard",
        version: "v0.0.0-20260522210424-ecfc5a8d5446",
        source: ModuleSource::Proxy,
        cgo: "0",
    },
    GoProgram {
        name: "fortio",
        package: "fortio.org/fortio",
        version: "v1.66.5",
        source: ModuleSource::Proxy,
        cgo: "0",
    },
    GoProgram {
        name: "weaver",
        package: "github.com/weaveworks/weave/prog/weaver",
        version: "2.6.5",
        source: ModuleSource::Pinned("xtask/weaver"),
        cgo: "1",
    },
];

/// Builds the missing programs. A program that cannot be built is named; tests that need it are skipped.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let directory = repository.built_programs();
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let missing: Vec<&GoProgram> =
        PROGRAMS.iter().filter(|program| !program.is_built(&directory)).collect();
    if missing.is_empty() {
        return Ok(TaskResult::Passed);
    }
    if !go_module::has_compiler(repository, OLDEST_GO) {
        let names: Vec<&str> = missing.iter().map(|program| program.name).collect();
        eprintln!(
            "no Go {OLDEST_GO} or newer: {} are not built, and what needs them is skipped; install it",
            names.join(", ")
        );
        return Ok(TaskResult::Passed);
    }
    for program in missing {
        eprintln!(
            "building {} ({} {}): some minutes",
            program.name, program.package, program.version
        );
        if let Err(error) = program.build(repository, &directory) {
            eprintln!(
                "{} could not be built, and what needs it is skipped: {error:#}",
                program.name
            );
        }
    }
    Ok(TaskResult::Passed)
}

impl GoProgram {
    /// Returns the file with the version of the built program.
    fn stamp(&self, directory: &Path) -> PathBuf {
        directory.join(format!(".{}.version", self.name))
    }

    fn is_built(&self, directory: &Path) -> bool {
        let version = fs::read_to_string(self.stamp(directory)).unwrap_or_default();
        directory.join(self.name).is_file() && version.trim() == self.version
    }

    fn build(&self, repository: &Repository, directory: &Path) -> Result<()> {
        let scratch = repository.path("target/tools/go").join(self.name);
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        process::run(&mut self.command(repository, &scratch))?;
        let made = fs::read_dir(&scratch)?.flatten().next().context("go has built no program")?;
        fs::rename(made.path(), directory.join(self.name))?;
        fs::write(self.stamp(directory), format!("{}\n", self.version))?;
        fs::remove_dir_all(&scratch)?;
        Ok(())
    }

    /// Returns the command that builds the program as the only file of a directory.
    fn command(&self, repository: &Repository, scratch: &Path) -> Command {
        let mut go = repository.command("go");
        go.env("CGO_ENABLED", self.cgo);
        match self.source {
            ModuleSource::Proxy => {
                go.env("GOBIN", scratch).args(["install", "-trimpath"]);
                go.arg(format!("{}@{}", self.package, self.version));
            }
            ModuleSource::Pinned(module) => {
                go.args(["build", "-C"]).arg(repository.path(module)).arg("-trimpath");
                go.arg(format!("-ldflags=-X main.version={}", self.version));
                go.arg("-o").arg(scratch.join(self.name)).arg(self.package);
            }
        }
        go
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command_line;

    #[test]
    fn each_source_has_its_command() {
        let repository = Repository::find().unwrap();
        let line =
            |program: &GoProgram| command_line(&program.command(&repository, Path::new("/s")));
        assert_eq!(line(&PROGRAMS[2]), "go install -trimpath fortio.org/fortio@v1.66.5");
        let weaver = line(&PROGRAMS[3]);
        assert!(weaver.starts_with("go build -C "), "{weaver}");
        assert!(
            weaver.ends_with("/xtask/weaver -trimpath '-ldflags=-X main.version=2.6.5' -o /s/weaver github.com/weaveworks/weave/prog/weaver"),
            "{weaver}"
        );
    }

    #[test]
    fn pinned_modules_are_in_the_repository() {
        let repository = Repository::find().unwrap();
        for program in PROGRAMS {
            if let ModuleSource::Pinned(module) = program.source {
                assert!(repository.path(module).join("go.mod").is_file(), "{module}");
            }
        }
    }
}
