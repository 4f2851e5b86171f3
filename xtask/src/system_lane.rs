//! `cargo xtask test-system`: tests with foreign tools, engines, a browser, packages and other kernels. A skip that this machine
//! does not explain is a failure.

use crate::TaskResult;
use crate::clean_roots;
use crate::dist;
use crate::engine_programs;
use crate::expected_skips::{self, SkipMachine};
use crate::nextest::{self, Nextest};
use crate::parts::{self, TestPart};
use crate::preflight::{self, TestLane};
use crate::repository::Repository;
use crate::summary::{self, TestCount};
use crate::vm;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::panic::resume_unwind;

/// Choice among the tests in the virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuestScope {
    /// Tests that end within minutes.
    Short,
    /// Whole studies and engines in addition.
    Long,
}

/// Runs the lane: `[--only PART,..] [--long]`.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let (parts, scope) = parse(arguments)?;
    run_parts(repository, &parts, scope)
}

/// Runs parts, and prints the count of their tests last.
pub(crate) fn run_parts(
    repository: &Repository,
    parts: &BTreeSet<TestPart>,
    scope: GuestScope,
) -> Result<TaskResult> {
    if preflight::run(repository, TestLane::System) == TaskResult::Failed {
        return Ok(TaskResult::Failed);
    }
    if parts.contains(&TestPart::Packages) {
        clean_roots::make(repository, &clean_roots::FOR_PACKAGES)?;
        dist::run(repository, &[])?;
    }
    if parts.contains(&TestPart::Engines) {
        clean_roots::make(repository, &[clean_roots::PODMAN_5])?;
        engine_programs::run(repository)?;
    }
    let nextest = Nextest::new(repository)?;
    let outcome = run_side_by_side(
        || filter(parts).map(|filter| run_on_host(repository, &nextest, &filter)),
        || parts.contains(&TestPart::Vm).then(|| run_in_guest(repository, &nextest, scope)),
    )?;
    for problem in &outcome.problems {
        eprintln!("tare test-system: {problem}");
    }
    println!("{}", outcome.count);
    Ok(TaskResult::from_success(outcome.problems.is_empty()))
}

/// Runs the host's tests and the guest's at a time, each to its end: an emulated machine takes one processor, and tests
/// of engines mostly wait.
fn run_side_by_side(
    on_host: impl FnOnce() -> Option<Result<LaneOutcome>>,
    in_guest: impl FnOnce() -> Option<Result<LaneOutcome>> + Send,
) -> Result<LaneOutcome> {
    let (host, guest) = std::thread::scope(|scope| {
        let guest = scope.spawn(in_guest);
        let host = on_host();
        (host, guest.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let mut outcome = LaneOutcome::default();
    for part in [host, guest].into_iter().flatten() {
        outcome.add(part?);
    }
    Ok(outcome)
}

/// Results of one or several parts.
#[derive(Debug, Default)]
struct LaneOutcome {
    count: TestCount,
    /// Failures and unexpected skips, a line each.
    problems: Vec<String>,
}

impl LaneOutcome {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.problems.extend(other.problems);
    }
}

fn parse(arguments: &[String]) -> Result<(BTreeSet<TestPart>, GuestScope)> {
    let (mut chosen, mut scope) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--long" => scope = Some(GuestScope::Long),
            "--only" => {
                let list =
                    rest.next().context("--only: expected parts, with commas between them")?;
                chosen = Some(parts::parse(list)?);
            }
            _ => bail!("invalid argument {argument:?}: expected --only PART,.. or --long"),
        }
    }
    let default = if chosen.is_some() { GuestScope::Short } else { GuestScope::Long };
    Ok((chosen.unwrap_or_else(|| TestPart::ALL.into()), scope.unwrap_or(default)))
}

/// Returns the filter of the parts that nextest runs. Returns `None` if no such part is chosen.
fn filter(parts: &BTreeSet<TestPart>) -> Option<String> {
    let binaries: Vec<String> = parts
        .iter()
        .filter(|part| **part != TestPart::Vm)
        .flat_map(|part| part.binaries())
        .map(|binary| format!("binary(={binary})"))
        .collect();
    if binaries.is_empty() {
        return None;
    }
    Some(format!("package(=tare-tests) & ({})", binaries.join(" | ")))
}

fn run_on_host(
    repository: &Repository,
    nextest: &Nextest<'_>,
    filter: &str,
) -> Result<LaneOutcome> {
    let chosen = ["--ignore-default-filter", "-E", filter].map(str::to_owned);
    let results = nextest.run(&nextest::with_threads(&chosen))?;
    let ignored = nextest.ignored(&chosen)?;
    print!("{}", summary::sections(&results.cases, &ignored));
    let mut problems = expected_skips::unexpected(repository, SkipMachine::Host, &ignored);
    if !results.status.success() {
        problems.push(format!("failed: nextest ended with {}", results.status));
    }
    Ok(LaneOutcome { count: TestCount::new(&results.cases, &ignored), problems })
}

fn run_in_guest(
    repository: &Repository,
    nextest: &Nextest<'_>,
    scope: GuestScope,
) -> Result<LaneOutcome> {
    let mut outcome = LaneOutcome::default();
    for result in vm::run_tests(repository, nextest, scope)? {
        let mut problems =
            expected_skips::unexpected(repository, SkipMachine::Guest, &result.report.ignored);
        if result.status != 0 {
            problems.push(format!(
                "failed: the tests in the virtual machine ended with {}",
                result.status
            ));
        }
        outcome.add(LaneOutcome { count: result.report.count(), problems });
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(BTreeSet<TestPart>, GuestScope)> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn all_parts_are_long_and_chosen_ones_short() {
        assert_eq!(parsed("").unwrap(), (TestPart::ALL.into(), GuestScope::Long));
        assert_eq!(parsed("--only vm").unwrap(), ([TestPart::Vm].into(), GuestScope::Short));
        assert_eq!(parsed("--long --only vm").unwrap(), ([TestPart::Vm].into(), GuestScope::Long));
        for wrong in ["--only", "--only x", "vm"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn host_and_guest_run_at_a_time_and_both_count() {
        let (to_host, from_guest) = std::sync::mpsc::channel();
        let part = |problem: &str| LaneOutcome {
            problems: vec![problem.to_owned()],
            ..LaneOutcome::default()
        };
        let outcome = run_side_by_side(
            || {
                from_guest.recv().unwrap();
                Some(Ok(part("host")))
            },
            move || {
                to_host.send(()).unwrap();
                Some(Ok(part("guest")))
            },
        );
        assert_eq!(outcome.unwrap().problems, ["host", "guest"]);
        let failed =
            run_side_by_side(|| Some(Ok(part("host"))), || Some(Err(anyhow::anyhow!("no"))));
        assert!(failed.is_err());
        assert!(run_side_by_side(|| None, || None).unwrap().problems.is_empty());
    }

    #[test]
    fn one_filter_has_all_parts_of_nextest() {
        assert_eq!(filter(&[TestPart::Vm].into()), None);
        assert_eq!(
            filter(&TestPart::ALL.into()).unwrap(),
            "package(=tare-tests) & (binary(=tools) | binary(=engines) | binary(=engine29) | binary(=page) | binary(=packages))"
        );
    }
}
