//! `cargo xtask engine-programs`: builds the programs of a current Docker Engine into `target/tools/engine` with Go's own
//! tools, from Go's module proxy: the engine, its proxy of published ports, the runtime of its containers, and gVisor's
//! runtime. Debian's containerd serves it. They are built again when this file names other modules.

use crate::TaskResult;
use crate::go_module::{self, GoModule};
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest Go version that builds all programs.
const OLDEST_GO: &str = "1.25.5";

/// Name of the file with the hash of everything that the programs were made from.
const STAMP: &str = ".sources.sha256";

/// Programs of one module.
struct EngineModule {
    module: GoModule,
    /// Packages, each of which is a program with the name of its last directory.
    packages: &'static [&'static str],
    tags: &'static str,
    /// `CGO_ENABLED`: 1 if the programs have a part in C.
    cgo: &'static str,
}

/// Modules of Docker Engine 29. A dockerd that is built so states `library-import` as its version.
const MODULES: [EngineModule; 3] = [
    EngineModule {
        module: GoModule {
            path: "github.com/moby/moby/v2",
            version: "v2.0.0-beta.15",
            sum: "h1:v9Uk1WYdov0Pdxu68Kp7bhjieH/sis41ARNaNG+6rmk=",
        },
        packages: &["./cmd/dockerd", "./cmd/docker-proxy"],
        tags: "",
        cgo: "0",
    },
    // Debian's runc knows no time namespaces. From 1.3 on, runc replaces a module by a directory that its own lacks.
    EngineModule {
        module: GoModule {
            path: "github.com/opencontainers/runc",
            version: "v1.2.6",
            sum: "h1:P7Hqg40bsMvQGCS4S7DJYhUZOISMLJOB2iGX5COWiPk=",
        },
        packages: &["."],
        tags: "seccomp netgo",
        cgo: "1",
    },
    // Debian's runsc of 2022 takes every network namespace of a newer kernel for the first one. The branch `go` of gVisor has
    // the files that its own build system generates.
    EngineModule {
        module: GoModule {
            path: "gvisor.dev/gvisor",
            version: "v0.0.0-20250503011706-39ed1f5ac29c",
            sum: "h1:m/r7OM+Y2Ty1sgBQ7Qb27VgIMBW8ZZhT4gLnUyDIhzI=",
        },
        packages: &["./runsc"],
        tags: "",
        cgo: "0",
    },
];

/// Programs that must be there.
const PROGRAMS: [&str; 4] = ["dockerd", "docker-proxy", "runc", "runsc"];

/// Builds the programs, if they are missing or made from other modules. Without a Go compiler there are none, and the tests
/// that need them are ignored with that reason.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let programs = repository.engine_programs();
    let (stamp, hash) = (programs.join(STAMP), hash_sources());
    let is_built = fs::read_to_string(&stamp).is_ok_and(|built| built == hash);
    if is_built && are_built(repository) {
        return Ok(TaskResult::Passed);
    }
    if !go_module::has_compiler(repository, OLDEST_GO) {
        eprintln!(
            "no Go {OLDEST_GO} or newer: the programs of Docker Engine 29 are not built, and what needs them is skipped; install it"
        );
        return Ok(TaskResult::Passed);
    }
    fs::create_dir_all(&programs).with_context(|| format!("cannot make {}", programs.display()))?;
    eprintln!("building the programs of Docker Engine 29: some minutes");
    for module in &MODULES {
        module.build(repository, &programs)?;
    }
    fs::write(stamp, hash)?;
    Ok(TaskResult::Passed)
}

/// Returns whether all programs are there.
pub(crate) fn are_built(repository: &Repository) -> bool {
    PROGRAMS.iter().all(|name| repository.engine_programs().join(name).is_file())
}

fn hash_sources() -> String {
    let module = |EngineModule { module, packages, tags, cgo }: &EngineModule| {
        format!("{module:?} {packages:?} {tags} {cgo}\n")
    };
    go_module::hash_of(MODULES.iter().map(module))
}

impl EngineModule {
    fn build(&self, repository: &Repository, programs: &Path) -> Result<()> {
        let copy = self.copy(repository);
        self.module.unpack(repository, &copy)?;
        // Of a directory `vendor` a module has the list alone, which the compiler would hold against `go.mod`.
        let vendor = copy.join("vendor");
        if vendor.exists() {
            fs::remove_dir_all(&vendor)
                .with_context(|| format!("cannot remove {}", vendor.display()))?;
        }
        process::run(&mut self.command(repository, &copy, programs))?;
        fs::remove_dir_all(&copy).with_context(|| format!("cannot remove {}", copy.display()))
    }

    /// Returns the directory of the module's writable copy, with the name of the module's program.
    fn copy(&self, repository: &Repository) -> PathBuf {
        let name = self.module.path.rsplit('/').find(|part| !part.starts_with('v'));
        repository.path("target/tools/go").join(name.unwrap_or(self.module.path))
    }

    /// Returns the command that builds the programs. It may not change what `go.mod` and `go.sum` pin.
    fn command(&self, repository: &Repository, copy: &Path, programs: &Path) -> Command {
        let mut go = repository.command("go");
        go.env("CGO_ENABLED", self.cgo).args(["build", "-C"]).arg(copy);
        go.args(["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=-s -w", "-tags"]);
        // With its last separator, the output is a directory also for one program.
        go.arg(self.tags).arg("-o").arg(programs.join("")).args(self.packages);
        go
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command_line;

    #[test]
    fn each_module_has_its_command() {
        let repository = Repository::find().unwrap();
        let line = |module: &EngineModule| {
            command_line(&module.command(&repository, Path::new("/c"), Path::new("/p")))
        };
        assert_eq!(
            MODULES.each_ref().map(line),
            [
                "go build -C /c -trimpath -buildvcs=false -mod=readonly '-ldflags=-s -w' -tags '' -o /p/ ./cmd/dockerd ./cmd/docker-proxy",
                "go build -C /c -trimpath -buildvcs=false -mod=readonly '-ldflags=-s -w' -tags 'seccomp netgo' -o /p/ .",
                "go build -C /c -trimpath -buildvcs=false -mod=readonly '-ldflags=-s -w' -tags '' -o /p/ ./runsc"
            ]
        );
    }

    #[test]
    fn copies_are_named_after_their_modules() {
        let repository = Repository::find().unwrap();
        let names = MODULES.each_ref().map(|module| module.copy(&repository));
        assert!(names[0].ends_with("target/tools/go/moby"), "{names:?}");
        assert!(names[1].ends_with("target/tools/go/runc"), "{names:?}");
    }
}
