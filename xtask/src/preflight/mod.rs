//! `cargo xtask preflight`: finds out before a lane starts that this machine cannot run it, and says so in one line.

mod disk;
mod namespaces;

use crate::Verdict;
use crate::process;
use crate::repository::Repository;
use anyhow::{Result, bail};

/// Lane of tests that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// `make test`.
    Test,
    /// `make test-system`, which needs root in addition.
    System,
}

impl Lane {
    /// The lane of the arguments: `[--system]`.
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

/// Something that is missing on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    /// The missing thing, with its cause.
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

/// Checks the machine and prints what is missing, in one line.
pub(crate) fn run(repository: &Repository, lane: Lane) -> Result<Verdict> {
    let problems = problems(repository, lane)?;
    if let Some(line) = line(lane, &problems) {
        eprintln!("{line}");
    }
    Ok(Verdict::from_success(problems.is_empty()))
}

fn problems(repository: &Repository, lane: Lane) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    if lane == Lane::System {
        problems.extend(root());
    }
    // Without its programs no check of namespaces says anything.
    match programs(repository) {
        Some(problem) => problems.push(problem),
        None => problems.extend(namespaces::check(repository)),
    }
    problems.extend(disk::check(repository)?);
    problems.extend(binary(repository));
    problems.extend(crates(repository));
    Ok(problems)
}

fn line(lane: Lane, problems: &[Problem]) -> Option<String> {
    if problems.is_empty() {
        return None;
    }
    let problems: Vec<String> = problems
        .iter()
        .map(|p| format!("{}, so {} not tested; {}", p.missing, p.untested, p.remedy))
        .collect();
    Some(format!("{}: cannot run: {}", lane.name(), problems.join("; and ")))
}

fn root() -> Option<Problem> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    Some(Problem {
        missing: "not root".to_owned(),
        untested: "engines and other kernels are",
        remedy: "run: sudo make test-system".to_owned(),
    })
}

fn programs(repository: &Repository) -> Option<Problem> {
    let missing: Vec<(&str, &str)> =
        PROGRAMS.into_iter().filter(|(name, _)| repository.find_program(name).is_none()).collect();
    if missing.is_empty() {
        return None;
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    Some(Problem {
        missing: format!("no program {} on the PATH", names.join(", ")),
        untested: "lab, traffic and e2e are",
        remedy: format!("run: sudo apt-get install {}", packages.join(" ")),
    })
}

fn binary(repository: &Repository) -> Option<Problem> {
    if repository.tare().is_file() {
        return None;
    }
    Some(Problem {
        missing: "no binary target/bin/tare".to_owned(),
        untested: "e2e is",
        remedy: "run: make build".to_owned(),
    })
}

fn crates(repository: &Repository) -> Option<Problem> {
    let fetch = |more: &[&str]| {
        process::failure(repository.command("cargo").args(["fetch", "--locked"]).args(more))
    };
    fetch(&["--offline"])?;
    let cause = fetch(&[])?;
    Some(Problem {
        missing: format!(
            "not all crates of Cargo.lock are on disk, and none can be fetched ({cause})"
        ),
        untested: "the whole workspace is",
        remedy: "run `cargo fetch --locked` where there is a network".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(missing: &str) -> Problem {
        Problem {
            missing: missing.to_owned(),
            untested: "lab and e2e are",
            remedy: "run as root".to_owned(),
        }
    }

    #[test]
    fn all_problems_are_one_line() {
        assert_eq!(line(Lane::Test, &[]), None);
        assert_eq!(
            line(Lane::Test, &[problem("no user namespaces (x=0)")]).unwrap(),
            "tare test: cannot run: no user namespaces (x=0), so lab and e2e are not tested; run as root"
        );
        let two = line(Lane::System, &[problem("a"), problem("b")]).unwrap();
        assert!(two.starts_with("tare test-system: cannot run: a, so "), "{two}");
        assert!(two.contains("; and b, so ") && !two.contains('\n'), "{two}");
    }
}
