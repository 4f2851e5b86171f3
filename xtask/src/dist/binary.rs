//! Static binary of a target, linked by Rust's own linker, so that it does not depend on this machine's. One dependency, the
//! parser of JSONPath in kubeconfigs, has a few instructions of assembler, for which the target's own compiler is called.
//! Symbols and line numbers are in a file of their own.

use super::Workspace;
use super::target::DistTarget;
use crate::process;
use crate::repository::Repository;
use crate::toolchain;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Largest size of the binary, bytes. It is copied into every container. Seven megabytes of it are for Kubernetes.
const MOST_BYTES: u64 = 22 << 20;

/// Linker that comes with Rust and links for every target.
const LINKER: &str = "rust-lld";

/// Profile of Cargo.toml: that of a release, with symbols.
const PROFILE: &str = "shipped";

/// Compiles the binaries of all targets, at a time.
pub(super) fn compile(workspace: &Workspace<'_>, targets: &[&DistTarget]) -> Result<()> {
    let repository = workspace.repository;
    let mut cargo = repository.command("cargo");
    // The package alone: other packages of the workspace would add features to its dependencies.
    cargo.args(["build", "--locked", "--profile", PROFILE, "--package", "tare", "--bin", "tare"]);
    cargo.args(["--no-default-features", "--features", "docker,kubernetes"]);
    for target in targets {
        let linker = format!("CARGO_TARGET_{}_LINKER", variable_name(target.triple));
        cargo.args(["--target", target.triple]).env(linker, LINKER);
        for (variable, program) in [("CC", "gcc"), ("AR", "ar")] {
            let variable = format!("{variable}_{}", target.triple.replace('-', "_"));
            cargo.env(variable, format!("{}-linux-gnu-{program}", target.machine));
        }
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(repository)?).env("CARGO_INCREMENTAL", "0");
    process::run(workspace.release.apply_to(&mut cargo))
}

/// Returns the path of a target's binary without symbols. Its symbols go to a compressed file of the release.
pub(super) fn strip(workspace: &Workspace<'_>, target: &DistTarget) -> Result<PathBuf> {
    let repository = workspace.repository;
    let built = repository.target().join(target.triple).join(PROFILE).join("tare");
    let directory = workspace.scratch_directory(target, "binary")?;
    let (program, symbols) = (directory.join("tare"), directory.join("tare.debug"));
    let mut keep = toolchain::command(repository, "rust-objcopy")?;
    process::output(keep.arg("--only-keep-debug").arg(&built).arg(&symbols))?;
    let mut strip = toolchain::command(repository, "rust-objcopy")?;
    strip.arg("--strip-all").arg("--add-gnu-debuglink").arg(&symbols);
    process::output(strip.arg(&built).arg(&program))?;
    compress_symbols(workspace, target, &symbols)?;

    let size = fs::metadata(&program).context("rust-objcopy wrote no binary")?.len();
    if size > MOST_BYTES {
        bail!(
            "the binary of {} has {size} bytes, more than {MOST_BYTES}: see what grew, \
             with cargo-bloat, or raise the limit in xtask/src/dist/binary.rs",
            target.triple
        );
    }
    Ok(program)
}

fn compress_symbols(workspace: &Workspace<'_>, target: &DistTarget, symbols: &Path) -> Result<()> {
    // One thread: the number of threads decides where blocks end.
    let mut xz = workspace.repository.command("xz");
    process::output(xz.args(["-3", "--threads=1", "--keep", "--force"]).arg(symbols))?;
    let compressed = symbols.with_extension("debug.xz");
    fs::rename(&compressed, workspace.named_output(target, "debug.xz"))
        .with_context(|| format!("cannot move {}", compressed.display()))
}

/// Returns the part of Cargo's variables that names a target.
fn variable_name(triple: &str) -> String {
    triple.to_uppercase().replace('-', "_")
}

/// Returns flags of the compiler, in Cargo's encoding: directories of this machine stay out of the binary, relocations are packed,
/// and functions of the same instructions are one.
fn flags(repository: &Repository) -> Result<String> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cargo"),
    };
    let renamed = [(repository.root(), "/tare"), (&home, "/cargo")];
    let renamed = renamed.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let linked = ["--pack-dyn-relocs=relr", "--icf=all"].map(|flag| format!("-Clink-arg={flag}"));
    Ok([renamed, linked].concat().join("\x1f"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_s_variables_name_the_target() {
        assert_eq!(variable_name("aarch64-unknown-linux-musl"), "AARCH64_UNKNOWN_LINUX_MUSL");
    }

    #[test]
    fn the_checkout_and_cargo_s_directory_are_kept_out_of_the_binary() {
        let repository = Repository::find().unwrap();
        let flags = flags(&repository).unwrap();
        let flags: Vec<&str> = flags.split('\x1f').collect();
        let checkout = format!("--remap-path-prefix={}=/tare", repository.root().display());
        assert_eq!(flags[0], checkout);
        assert!(flags[1].ends_with("=/cargo"), "{flags:?}");
    }
}
