//! cargo-nextest: runs the workspace's tests, reads their results, and finds test binaries.

use crate::ignored_tests::{self, IgnoredTest};
use crate::junit::{self, TestCase};
use crate::process;
use crate::repository::Repository;
use crate::toolchain;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// Options of `nextest run` that take a value and that `nextest list` lacks.
const RUN_OPTIONS_WITH_VALUE: [&str; 11] = [
    "-j",
    "--jobs",
    "--test-threads",
    "--retries",
    "--flaky-result",
    "--failure-output",
    "--success-output",
    "--status-level",
    "--final-status-level",
    "--max-fail",
    "--stress-count",
];

/// Options of `nextest run` that choose tests, with a value. `nextest list` has them too.
const FILTER_OPTIONS: [&str; 8] =
    ["-E", "--filterset", "--filter-expr", "-p", "--package", "--exclude", "--test", "--bin"];

/// Command nextest with the profile and target that all lanes use.
pub(crate) struct Nextest<'a> {
    repository: &'a Repository,
    target: String,
}

/// Results of a run.
#[derive(Debug)]
pub(crate) struct RunResults {
    /// Exit status of nextest.
    pub(crate) status: ExitStatus,
    /// Tests that ran, from the JUnit report.
    pub(crate) cases: Vec<TestCase>,
}

impl<'a> Nextest<'a> {
    /// Finds nextest and the target to build for.
    pub(crate) fn new(repository: &'a Repository) -> Result<Self> {
        if repository.find_program("cargo-nextest").is_none() {
            bail!(
                "cargo-nextest is neither on the PATH nor in target/tools/venv/bin: run `make test`, which installs it"
            );
        }
        Ok(Self { repository, target: toolchain::target(repository)? })
    }

    /// Runs tests and reads their results. Fails if nothing ran, such as after a failed build.
    pub(crate) fn run(&self, arguments: &[String]) -> Result<RunResults> {
        let report = self.repository.target().join("nextest/default/junit.xml");
        // A report of an earlier run must not be taken for this one's.
        let _ = fs::remove_file(&report);
        let mut command = self.command("run", arguments);
        command.arg("--no-fail-fast").args(arguments).env("TARE_BINARY", self.repository.tare());
        let status = process::run_for_status(&mut command)?;
        let text = fs::read_to_string(&report).with_context(|| {
            format!("no test ran: nextest ended with {status} and without {}", report.display())
        })?;
        Ok(RunResults { status, cases: junit::parse(&text)? })
    }

    /// Lists the ignored tests among those that the arguments of a run choose.
    pub(crate) fn ignored(&self, run_arguments: &[String]) -> Result<Vec<IgnoredTest>> {
        let filters = filters(run_arguments);
        let mut command = self.command("list", &filters);
        command.args(["--run-ignored", "only", "--message-format", "json"]).args(&filters);
        ignored_tests::parse(&process::output(&mut command)?)
    }

    /// Builds the test binaries and returns the path of one, by its package and name.
    pub(crate) fn binary(&self, package: &str, name: &str) -> Result<PathBuf> {
        let mut command = self.command("list", &[]);
        command.args(["--list-type", "binaries-only", "--message-format", "json"]);
        binary_path(&process::output(&mut command)?, &format!("{package}::{name}"))
    }

    fn command(&self, subcommand: &str, arguments: &[String]) -> Command {
        let mut command = self.repository.command("cargo");
        command.args(["nextest", subcommand, "--locked", "--cargo-profile", "fast"]);
        command.args(["--target", &self.target]);
        if !has_package(arguments) {
            command.arg("--workspace");
        }
        command
    }
}

/// Tests per processor that run at a time: most tests wait three quarters of their time for timers, daemons and namespaces.
const TESTS_PER_PROCESSOR: usize = 4;

/// Adds the number of tests at a time to the arguments, unless they have one.
pub(crate) fn with_threads(arguments: &[String]) -> Vec<String> {
    let has_threads = arguments.iter().any(|argument| {
        let option = argument.split('=').next().unwrap_or(argument);
        ["-j", "--jobs", "--test-threads"].contains(&option)
    });
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = format!("--test-threads={}", processors * TESTS_PER_PROCESSOR);
    let more = (!has_threads).then_some(threads);
    more.into_iter().chain(arguments.iter().cloned()).collect()
}

#[derive(Deserialize)]
struct BinaryListing {
    #[serde(rename = "rust-binaries")]
    binaries: BTreeMap<String, ListedBinary>,
}

#[derive(Deserialize)]
struct ListedBinary {
    #[serde(rename = "binary-path")]
    path: PathBuf,
}

fn binary_path(listing: &str, id: &str) -> Result<PathBuf> {
    let mut listing: BinaryListing = serde_json::from_str(listing)
        .context("cannot read the output of `cargo nextest list --list-type binaries-only`")?;
    let binary = listing.binaries.remove(id);
    Ok(binary.with_context(|| format!("nextest lists no test binary {id}"))?.path)
}

/// Returns true if the arguments name packages, which replace `--workspace`.
fn has_package(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| {
        argument == "-p" || argument == "--package" || argument.starts_with("--package=")
    })
}

/// Returns the arguments of a run that choose tests: filter options with their values, `--ignore-default-filter`, and
/// names.
fn filters(arguments: &[String]) -> Vec<String> {
    let mut chosen = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let option = argument.split('=').next().unwrap_or(argument);
        if argument == "--" {
            chosen.push(argument.clone());
            chosen.extend(rest.by_ref().cloned());
        } else if RUN_OPTIONS_WITH_VALUE.contains(&argument.as_str()) {
            rest.next();
        } else if FILTER_OPTIONS.contains(&argument.as_str()) {
            chosen.push(argument.clone());
            chosen.extend(rest.next().cloned());
        } else if FILTER_OPTIONS.contains(&option)
            || argument == "--ignore-default-filter"
            || !argument.starts_with('-')
        {
            chosen.push(argument.clone());
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_two_a_processor_unless_the_user_says_otherwise() {
        let named = ["a_test".to_owned()];
        let two = with_threads(&named);
        assert!(two[0].starts_with("--test-threads=") && two[1..] == named, "{two:?}");
        for said in [&["-j", "3"][..], &["--test-threads=1"], &["--jobs=2"]] {
            let said: Vec<String> = said.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(with_threads(&said), said);
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_listing_takes_only_what_chooses_tests() {
        let table = [
            ("", ""),
            ("--retries 2 name", "name"),
            ("-E test(x) --no-capture -j 1", "-E test(x)"),
            ("--filterset=all() --status-level=all", "--filterset=all()"),
            ("--ignore-default-filter -p tare-lab", "--ignore-default-filter -p tare-lab"),
            ("a -- --exact b", "a -- --exact b"),
        ];
        for (run, list) in table {
            assert_eq!(filters(&words(run)), words(list), "{run}");
        }
    }

    #[test]
    fn a_package_replaces_the_workspace() {
        for (arguments, expected) in
            [("-p a", true), ("--package=a", true), ("--package a", true), ("name -E x", false)]
        {
            assert_eq!(has_package(&words(arguments)), expected, "{arguments}");
        }
    }

    #[test]
    fn a_binary_has_its_path() {
        let listing = r#"{"rust-build-meta": {}, "rust-binaries": {"tare-lab::lab": {
            "binary-id": "tare-lab::lab", "binary-path": "/t/deps/lab-1", "build-platform": "target"}}}"#;
        assert_eq!(binary_path(listing, "tare-lab::lab").unwrap(), PathBuf::from("/t/deps/lab-1"));
        let error = binary_path(listing, "tare-tests::vm").unwrap_err().to_string();
        assert_eq!(error, "nextest lists no test binary tare-tests::vm");
    }
}
