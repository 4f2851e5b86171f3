//! Rust toolchain: the target that tests are built for.

use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Returns the target of the tests' build: musl if the toolchain has its standard library, so that test binaries are
/// static and run in any container, else the host.
pub(crate) fn target(repository: &Repository) -> Result<String> {
    let host = host(repository)?;
    let musl = musl_of(&host);
    if has_standard_library(repository, &musl) { Ok(musl) } else { Ok(host) }
}

/// Returns the host's target triple.
pub(crate) fn host(repository: &Repository) -> Result<String> {
    let version = process::output(repository.command("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}

/// Makes a command of a program that comes with the compiler and uses its libraries.
pub(crate) fn command(repository: &Repository, name: &str) -> Result<Command> {
    let root = process::output(repository.command("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(root.trim()).join("lib");
    let program = libraries.join("rustlib").join(host(repository)?).join("bin").join(name);
    if !program.is_file() {
        bail!("this Rust toolchain has no {}: use one of rustup", program.display());
    }
    let mut command = repository.command(program);
    command.env("LD_LIBRARY_PATH", libraries);
    Ok(command)
}

fn musl_of(host: &str) -> String {
    let architecture = host.split('-').next().unwrap_or(host);
    format!("{architecture}-unknown-linux-musl")
}

fn has_standard_library(repository: &Repository, triple: &str) -> bool {
    let asked = process::output(repository.command("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        triple,
    ]));
    let Ok(entries) =
        asked.map_err(drop).and_then(|path| std::fs::read_dir(path.trim()).map_err(drop))
    else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn musl_has_the_architecture_of_the_host() {
        assert_eq!(musl_of("aarch64-unknown-linux-gnu"), "aarch64-unknown-linux-musl");
    }

    #[test]
    fn an_unknown_target_has_no_standard_library() {
        let repository = Repository::find().unwrap();
        assert!(!has_standard_library(&repository, "no-such-target"));
        assert!(has_standard_library(&repository, &host(&repository).unwrap()));
    }
}
