//! `cargo xtask mutants [FILTER]`: inserts each fault of `tests/MUTANTS.md` into the sources and runs the tests, one of
//! which must fail. The output of the compiler and the tests is in `target/mutants/NAME.log`.

mod document;
mod worktree;

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use crate::toolchain;
use anyhow::{Context, Result, bail};
use document::Mutant;
use std::fmt;
use std::fs;
use worktree::Worktree;

/// Document of all mutants.
const DOCUMENT: &str = "tests/MUTANTS.md";

/// Least share of mutants that must be caught, as a fraction.
const LEAST_SHARE: (usize, usize) = (28, 30);

/// Exit status of nextest if the tests do not compile, and if a test fails.
const BUILD_FAILED: i32 = 101;
const TEST_FAILED: i32 = 100;

/// Exit status of nextest if no test matches.
const NO_TESTS: i32 = 4;

/// Result of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MutantResult {
    /// A test failed.
    Caught,
    /// All tests passed.
    Escaped,
    /// The compiler rejected it, so it tests nothing.
    NotBuilt,
    /// Its diff does not apply to the sources.
    NotApplied,
}

impl fmt::Display for MutantResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caught => "caught",
            Self::Escaped => "escaped",
            Self::NotBuilt => "not built",
            Self::NotApplied => "not applied",
        })
    }
}

/// Tests all mutants, or those whose name contains the filter.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let filter = match arguments {
        [] => "",
        [filter] => filter,
        _ => bail!("expected one argument at most, a part of a mutant's name"),
    };
    let text = fs::read_to_string(repository.path(DOCUMENT))
        .with_context(|| format!("cannot read {DOCUMENT}"))?;
    let mut mutants = document::parse(&text).context(DOCUMENT)?;
    mutants.retain(|mutant| mutant.name.contains(filter));
    if mutants.is_empty() {
        bail!("no mutant of {DOCUMENT} has {filter:?} in its name");
    }
    let trial = MutantTrial {
        repository,
        worktree: Worktree::at_head(repository)?,
        target: toolchain::target(repository)?,
    };
    let mut caught = 0;
    for mutant in &mutants {
        let fate = trial.try_mutant(mutant)?;
        caught += usize::from(fate == MutantResult::Caught);
        println!("{fate:11}  {}: {}", mutant.name, mutant.description);
    }
    println!("{caught} of {} caught", mutants.len());
    Ok(TaskResult::from_success(is_enough(caught, mutants.len())))
}

fn is_enough(caught: usize, all: usize) -> bool {
    caught * LEAST_SHARE.1 >= all * LEAST_SHARE.0
}

/// Worktree and target for testing a mutant.
struct MutantTrial<'a> {
    repository: &'a Repository,
    worktree: Worktree<'a>,
    target: String,
}

impl MutantTrial<'_> {
    fn try_mutant(&self, mutant: &Mutant) -> Result<MutantResult> {
        if let Err(error) = self.worktree.apply(&mutant.diff) {
            eprintln!("{}: {error:#}", mutant.name);
            self.worktree.reset()?;
            return Ok(MutantResult::NotApplied);
        }
        let status = self.test(mutant);
        self.worktree.reset()?;
        result_of_status(status?).with_context(|| format!("the mutant {:?}", mutant.name))
    }

    /// Opens the file for the output of the compiler and the tests.
    fn log(&self, mutant: &Mutant) -> Result<fs::File> {
        let name = mutant.name.replace('/', "-");
        let path = self.repository.path("target/mutants").join(name + ".log");
        fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))
    }

    fn test(&self, mutant: &Mutant) -> Result<Option<i32>> {
        let mut command = self.repository.command("cargo");
        command.current_dir(self.worktree.directory());
        command.env("CARGO_TARGET_DIR", self.repository.path("target/mutants/target"));
        command.env("TARE_BINARY", self.repository.tare());
        command.args(["nextest", "run", "--locked", "--cargo-profile", "fast"]);
        command.args(["--target", &self.target, "--retries", "0", "--fail-fast"]);
        for package in &mutant.packages {
            command.args(["-p", package]);
        }
        let log = self.log(mutant)?;
        command.stdout(log.try_clone()?).stderr(log);
        Ok(process::run_for_status(&mut command)?.code())
    }
}

fn result_of_status(status: Option<i32>) -> Result<MutantResult> {
    match status {
        Some(TEST_FAILED) => Ok(MutantResult::Caught),
        Some(BUILD_FAILED) => Ok(MutantResult::NotBuilt),
        Some(0 | NO_TESTS) => Ok(MutantResult::Escaped),
        Some(status) => bail!("nextest could not run: exit status {status}"),
        None => bail!("nextest was ended by a signal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_nextest_decides() {
        for (status, fate) in [
            (0, MutantResult::Escaped),
            (4, MutantResult::Escaped),
            (100, MutantResult::Caught),
            (101, MutantResult::NotBuilt),
        ] {
            assert_eq!(result_of_status(Some(status)).unwrap(), fate, "{status}");
        }
        assert!(result_of_status(Some(96)).is_err());
        assert!(result_of_status(None).is_err());
    }

    #[test]
    fn the_share_is_28_of_30() {
        for (caught, all, enough) in
            [(28, 30, true), (27, 30, false), (1, 1, true), (14, 15, true), (13, 15, false)]
        {
            assert_eq!(is_enough(caught, all), enough, "{caught} of {all}");
        }
    }

    /// A change of the sources beside a mutant would silently take it out of the proof.
    #[test]
    fn every_diff_applies_to_the_sources() {
        let repository = Repository::find().unwrap();
        let document = fs::read_to_string(repository.path(DOCUMENT)).unwrap();
        let file = std::env::temp_dir().join(format!("tare-mutant-{}.diff", std::process::id()));
        for mutant in document::parse(&document).unwrap() {
            fs::write(&file, &mutant.diff).unwrap();
            let check = process::failure(
                repository.command("git").args(["apply", "--check", "--"]).arg(&file),
            );
            fs::remove_file(&file).unwrap();
            assert_eq!(check, None, "{}: renew its diff in {DOCUMENT}", mutant.name);
        }
    }
}
