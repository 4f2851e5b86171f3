//! `cargo xtask preflight`: checks before a lane starts that this machine can run it, and reports what is missing in
//! one line. What must hold before anything is compiled is checked by `scripts/preflight.sh`.

mod namespaces;
#[cfg(test)]
mod script_tests;

use crate::TaskResult;
use crate::repository::Repository;
use anyhow::{Result, bail};

/// Lane of tests to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestLane {
    /// `make test`.
    Test,
    /// `make test-system`, which also needs root.
    System,
}

impl TestLane {
    /// Parses the lane from the arguments: `[--system]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        match arguments {
            [] => Ok(Self::Test),
            [one] if one == "--system" => Ok(Self::System),
            _ => bail!("invalid arguments: expected nothing or --system"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Test => "tare test",
            Self::System => "tare test-system",
        }
    }
}

/// Requirement of a lane that this machine does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PreflightProblem {
    /// Missing requirement, with its cause.
    missing: String,
    /// Tests that cannot run without it.
    untested: &'static str,
    /// Advice to the user.
    remedy: String,
}

/// Programs that tests of `make test` start, and their Debian packages.
const PROGRAMS: [(&str, &str); 11] = [
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("tc", "iproute2"),
    ("ss", "iproute2"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("ping", "iputils-ping"),
    ("python3", "python3"),
    ("ethtool", "ethtool"),
    ("perl", "perl-base"),
];

/// Checks the machine and prints the missing requirements, in one line.
pub(crate) fn run(repository: &Repository, lane: TestLane) -> TaskResult {
    let problems = problems(repository, lane);
    if let Some(line) = line(lane, &problems) {
        eprintln!("{line}");
    }
    TaskResult::from_success(problems.is_empty())
}

fn problems(repository: &Repository, lane: TestLane) -> Vec<PreflightProblem> {
    let mut problems = Vec::new();
    if lane == TestLane::System {
        problems.extend(root());
    }
    // Without its programs, a check of namespaces is meaningless.
    match programs(repository) {
        Some(problem) => problems.push(problem),
        None => problems.extend(namespaces::check(repository)),
    }
    problems.extend(binary(repository));
    problems
}

fn line(lane: TestLane, problems: &[PreflightProblem]) -> Option<String> {
    if problems.is_empty() {
        return None;
    }
    let problems: Vec<String> = problems
        .iter()
        .map(|p| format!("{}, so {} not tested; {}", p.missing, p.untested, p.remedy))
        .collect();
    Some(format!("{}: cannot run: {}", lane.name(), problems.join("; and ")))
}

fn root() -> Option<PreflightProblem> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    Some(PreflightProblem {
        missing: "not root".to_owned(),
        untested: "engines and other kernels are",
        remedy: "run: sudo make test-system".to_owned(),
    })
}

fn programs(repository: &Repository) -> Option<PreflightProblem> {
    let missing: Vec<(&str, &str)> =
        PROGRAMS.into_iter().filter(|(name, _)| repository.find_program(name).is_none()).collect();
    if missing.is_empty() {
        return None;
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    Some(PreflightProblem {
        missing: format!("no program {} on the PATH", names.join(", ")),
        untested: "lab, traffic and e2e are",
        remedy: format!("run: sudo apt-get install {}", packages.join(" ")),
    })
}

fn binary(repository: &Repository) -> Option<PreflightProblem> {
    if repository.tare().is_file() {
        return None;
    }
    Some(PreflightProblem {
        missing: "no binary target/bin/tare".to_owned(),
        untested: "e2e is",
        remedy: "run: make build".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(missing: &str) -> PreflightProblem {
        PreflightProblem {
            missing: missing.to_owned(),
            untested: "lab and e2e are",
            remedy: "run as root".to_owned(),
        }
    }

    #[test]
    fn all_problems_are_one_line() {
        assert_eq!(line(TestLane::Test, &[]), None);
        assert_eq!(
            line(TestLane::Test, &[problem("no user namespaces (x=0)")]).unwrap(),
            "tare test: cannot run: no user namespaces (x=0), so lab and e2e are not tested; run as root"
        );
        let two = line(TestLane::System, &[problem("a"), problem("b")]).unwrap();
        assert!(two.starts_with("tare test-system: cannot run: a, so "), "{two}");
        assert!(two.contains("; and b, so ") && !two.contains('\n'), "{two}");
    }
}
