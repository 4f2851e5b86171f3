//! Development tasks of the project, run as `cargo xtask TASK`: test lanes, the virtual machine, checks of
//! documentation.
//!
//! Each task is a module. The `Makefile` calls them; `cargo xtask` lists them.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers, whose output is its result"
)]

mod advisories;
mod affected;
mod bill_of_materials;
mod book;
mod change;
mod ci;
mod clean_roots;
mod cluster_programs;
mod debian_site;
mod directory;
mod dist;
mod engine_programs;
mod expected_skips;
mod fuzz;
mod generated;
mod go_module;
mod go_programs;
mod house;
mod ignored_tests;
mod install;
mod junit;
mod links;
mod lock_file;
mod messages;
mod mutants;
mod nextest;
mod parts;
mod preflight;
mod process;
mod repository;
mod shell_quote;
mod sources;
mod summary;
mod system_lane;
mod test_kubernetes;
mod test_lane;
mod test_tls;
mod toolchain;
mod version;
mod vm;

use anyhow::{Result, bail};
use repository::Repository;
use std::process::ExitCode;

/// Result of a task that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskResult {
    /// All that was checked holds.
    Passed,
    /// Something does not hold. The task has printed the problem.
    Failed,
}

impl TaskResult {
    /// Returns [`Self::Passed`] on success, else [`Self::Failed`].
    pub(crate) fn from_success(success: bool) -> Self {
        if success { Self::Passed } else { Self::Failed }
    }
}

/// Usage text, printed if no task is named.
const USAGE: &str = "usage: cargo xtask TASK
  test [ARGUMENT..]                   the tests of `make test`; arguments go to `cargo nextest run`
  test-system [--only PART,..] [--long]
                                      tools, engines, page, packages and vm; all and --long without --only
  test-tls                            engines behind TLS
  test-kubernetes [ARGUMENT..]        a Kubernetes cluster; arguments go to `cargo nextest run`
  cluster-programs                    the programs of that cluster, into target/tools/cluster
  engine-programs                     the programs of Docker Engine 29, into target/tools/engine
  ci                                  the parts of test-system that the change under test can break
  vm COMMAND [ARGUMENT..]             a command in the virtual machine
  preflight [--system]                what this machine lacks for these lanes
  links                               links of the Markdown files
  book                                the documentation as a book, in target/book, with its links
  generated                           schemas, the tables of the guide, pages of studies, pictures of runs
  study-result DIR                    the result of a run, for its page or picture in docs
  messages [--check]                  tests/messages.txt: errors, remedies and findings of all sources
  install PREFIX                      the binary, manual pages and completions
  dist [host|TARGET..]                packages of this version for all targets, in target/dist
  advisories                          known vulnerabilities of dependencies, where their database can be reached
  bill-of-materials FILE              what the binary is made of (CycloneDX)
  fuzz SECONDS [TARGET..]             arbitrary bytes for every reader
  programs                            Go programs, into target/tools/bin
  mutants [FILTER]                    faults of tests/MUTANTS.md, which tests must notice";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(TaskResult::Passed) => ExitCode::SUCCESS,
        Ok(TaskResult::Failed) => ExitCode::FAILURE,
        Err(error) => {
            let task = arguments.first().map_or("", String::as_str);
            eprintln!("error: xtask {task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<TaskResult> {
    let repository = Repository::find()?;
    let Some((task, rest)) = arguments.split_first() else { bail!("no task is named\n{USAGE}") };
    match task.as_str() {
        "test" => test_lane::run(&repository, rest),
        "links" => links::run(&repository),
        "book" => book::run(&repository),
        "test-system" => system_lane::run(&repository, rest),
        "test-tls" => test_tls::run(&repository),
        "test-kubernetes" => test_kubernetes::run(&repository, rest),
        "cluster-programs" => cluster_programs::run(&repository),
        "engine-programs" => engine_programs::run(&repository),
        "ci" => ci::run(&repository),
        "preflight" => Ok(preflight::run(&repository, preflight::TestLane::parse(rest)?)),
        "vm" => vm::run_command(&repository, rest),
        "generated" => generated::run(&repository),
        "study-result" => generated::store_result(&repository, rest),
        "messages" => messages::run(&repository, rest),
        "install" => install::run(&repository, rest),
        "dist" => dist::run(&repository, rest),
        "advisories" => advisories::run(&repository),
        "bill-of-materials" => bill_of_materials::run(&repository, rest),
        "fuzz" => fuzz::run(&repository, rest),
        "programs" => go_programs::run(&repository),
        "mutants" => mutants::run(&repository, rest),
        _ => bail!("unknown task\n{USAGE}"),
    }
}
