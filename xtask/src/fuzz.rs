//! `cargo xtask fuzz SECONDS [TARGET..]`: fuzzes every reader of external input. Crashes are in `fuzz/artifacts`,
//! inputs that reached new code in `fuzz/corpus`.

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use crate::toolchain;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Directories of seeds, where they are not named after their target: real messages, and the project's own studies.
const SEEDS: [(&str, &str); 8] = [
    ("answers", "fuzz/seeds/control"),
    ("conversation", "fuzz/seeds/control"),
    ("messages", "fuzz/seeds/control"),
    ("netlink", "fuzz/seeds/netlink"),
    ("orders", "fuzz/seeds/agent"),
    ("reports", "fuzz/seeds/journal"),
    ("rules", "fuzz/seeds/netlink"),
    ("studies", "studies"),
];

/// Real output of foreign tools, from the fixtures of tests.
const FIXTURES: &str = "crates/tools/fixtures";

/// Runs each target for this many seconds.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let Some((seconds, targets)) = arguments.split_first() else {
        bail!("expected SECONDS [TARGET..]");
    };
    let seconds: u32 = seconds
        .parse()
        .with_context(|| format!("invalid time {seconds:?}: expected whole seconds"))?;
    if repository.find_program("cargo-fuzz").is_none() {
        bail!(
            "cargo-fuzz is neither on the PATH nor in target/tools/venv/bin: run `make fuzz`, which installs it"
        );
    }
    let all = all_targets(repository)?;
    let targets = if targets.is_empty() { &all } else { targets };
    if let Some(unknown) = targets.iter().find(|target| !all.contains(target)) {
        bail!("no target {unknown:?}: expected one of {}", all.join(", "));
    }
    write_tools_corpus(repository)?;
    for target in targets {
        run_target(repository, target, seconds)?;
    }
    Ok(TaskResult::Passed)
}

fn run_target(repository: &Repository, target: &str, seconds: u32) -> Result<()> {
    let corpus = Path::new("fuzz/corpus").join(target);
    fs::create_dir_all(repository.path(&corpus))?;
    let mut command = repository.command("cargo");
    // cargo-fuzz requires a nightly compiler for its sanitizers. The stable one has them with RUSTC_BOOTSTRAP.
    command.env("RUSTC_BOOTSTRAP", "1").args(["fuzz", "run", "--target"]);
    // The sanitizer's runtime is built for the host's C library.
    command.arg(toolchain::host(repository)?).arg(target).arg(corpus);
    let seeds = seeds(target);
    if repository.path(&seeds).is_dir() {
        command.arg(seeds);
    }
    command.arg("--").arg(format!("-max_total_time={seconds}"));
    command.args(["-rss_limit_mb=2048", "-timeout=20", "-print_final_stats=1"]);
    process::run(&mut command)
}

fn all_targets(repository: &Repository) -> Result<Vec<String>> {
    let manifest = fs::read_to_string(repository.path("fuzz/Cargo.toml"))
        .context("cannot read fuzz/Cargo.toml")?;
    Ok(targets_of(&manifest))
}

/// Returns the names of the binaries of a manifest.
fn targets_of(manifest: &str) -> Vec<String> {
    let mut in_binary = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_binary = line == "[[bin]]";
        } else if in_binary && let Some(value) = line.strip_prefix("name = ") {
            names.push(value.trim_matches('"').to_owned());
        }
    }
    names
}

fn seeds(target: &str) -> PathBuf {
    let other = SEEDS.iter().find(|(name, _)| *name == target);
    other.map_or_else(|| Path::new("fuzz/seeds").join(target), |(_, seeds)| PathBuf::from(seeds))
}

/// Writes each fixture to the corpus of the target `tools`, with the tool's name on its first line.
fn write_tools_corpus(repository: &Repository) -> Result<()> {
    let corpus = repository.path("fuzz/corpus/tools");
    fs::create_dir_all(&corpus)?;
    for tool in entries(&repository.path(FIXTURES))? {
        for fixture in entries(&tool)? {
            let name = file_name(&tool);
            let mut bytes = format!("{name}\n").into_bytes();
            bytes.extend(
                fs::read(&fixture).with_context(|| format!("cannot read {}", fixture.display()))?,
            );
            fs::write(corpus.join(format!("{name}-{}", file_name(&fixture))), bytes)?;
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_binaries_of_the_manifest() {
        let manifest = "[package]\nname = \"tare-fuzz\"\n[[bin]]\nname = \"orders\"\npath = \"x\"\n\
                        [dependencies]\nname = \"no\"\n[[bin]]\nname = \"tools\"\n";
        assert_eq!(targets_of(manifest), ["orders", "tools"]);
    }

    #[test]
    fn the_project_has_seeds_for_every_target_but_tools() {
        let repository = Repository::find().unwrap();
        for target in all_targets(&repository).unwrap() {
            let there = repository.path(seeds(&target)).is_dir();
            assert!(there || target == "tools", "{target}: no {}", seeds(&target).display());
        }
    }
}
