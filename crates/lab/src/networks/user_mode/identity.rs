//! Identity of the programs of user-mode stacks, as they state it themselves.
//!
//! The proof of the path compares executables. That does not help if a program is installed under the name of another,
//! so each is asked for its version, which begins with its name.

use super::stack::StackProgram;
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tare_network::{Requirement, UnmetRequirement};
use tare_sandbox::program;
use tare_sandbox::programs::run_outside_sandbox;

/// Time limit of a program that is asked for its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// First version of slirp4netns that takes a namespace by its path.
const LEAST_SLIRP4NETNS: [u32; 2] = [0, 4];

/// Returns the requirements of a program, by its name or at a path of the user's: that it is installed, and is what its
/// name says.
pub(super) fn requirements(wanted: StackProgram, given: Option<&str>) -> Vec<Requirement> {
    let StackProgram { name, package } = wanted;
    let unmet =
        |reason: String, remedy: String| Requirement::Unmet(UnmetRequirement { reason, remedy });
    let path = match given {
        None => match program::find(name) {
            None => return vec![Requirement::Program { name, package }],
            Some(path) => path,
        },
        Some(given) if access(given, Access::EXEC_OK).is_ok() => absolute(given),
        Some(given) => {
            let reason = format!("{given} is no program that can be run");
            return vec![unmet(reason, format!("name an executable file, or use {name} alone"))];
        }
    };
    let problem = problem(name, &stated_version(&path));
    let reason = problem.map(|why| format!("{} is another program: {why}", path.display()));
    let remedy = format!("install {package}, and put its directory first on PATH");
    reason.map(|reason| unmet(reason, remedy)).into_iter().collect()
}

/// Returns the command by which a program is started: its name, or the absolute path that the user gave.
pub(super) fn command(wanted: StackProgram, given: Option<&str>) -> String {
    given.map_or_else(|| wanted.name.to_owned(), |given| absolute(given).display().to_string())
}

fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// Returns the name of a program's file.
pub(super) fn file_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}

/// Describes an installed program: its command, and the version that it states.
pub(super) fn describe(command: &str) -> String {
    let path = if command.starts_with('/') { Some(command.into()) } else { program::find(command) };
    let stated = path.map(|path| stated_version(&path)).unwrap_or_default();
    let version = stated.split_once(' ').map_or("", |(_, version)| version.trim());
    let version = version.strip_prefix("version").unwrap_or(version).trim();
    match version {
        "" | "unknown version" => command.to_owned(),
        version => format!("{command} {version}"),
    }
}

/// Returns what is wrong with the stated version of a program. Returns `None` if nothing is.
fn problem(name: &str, stated: &str) -> Option<String> {
    let Some(version) = stated.strip_prefix(name) else {
        return Some(format!("it says `{stated}`"));
    };
    let is_old = name == "slirp4netns"
        && numbers(version).is_some_and(|numbers| numbers < LEAST_SLIRP4NETNS);
    is_old.then(|| format!("it says `{stated}`, which is older than 0.4"))
}

/// Returns the first two numbers of a version: ` version 1.2.0` is 1 and 2.
fn numbers(version: &str) -> Option<[u32; 2]> {
    let digits = version.find(|one: char| one.is_ascii_digit())?;
    let mut parts = version[digits..].split(|one: char| !one.is_ascii_digit());
    Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
}

/// Returns the first line that a program prints when it is asked for its version. Each is asked once.
fn stated_version(path: &Path) -> String {
    static STATED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let mut stated = STATED.lock().unwrap_or_else(PoisonError::into_inner);
    stated.entry(path.to_owned()).or_insert_with(|| ask(path)).clone()
}

fn ask(path: &Path) -> String {
    let mut command = Command::new(path);
    command.arg("--version");
    let output = run_outside_sandbox(command, "", VERSION_TIMEOUT);
    let text = output.map_or_else(|error| error.to_string(), |output| output.stdout);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_program_is_what_it_says() {
        assert_eq!(problem("pasta", "pasta unknown version"), None);
        assert_eq!(problem("slirp4netns", "slirp4netns version 1.2.0"), None);
        assert_eq!(problem("rootlesskit", "rootlesskit version 1.1.0"), None);
        let why = problem("pasta", "slirp4netns version 1.2.0").unwrap();
        assert_eq!(why, "it says `slirp4netns version 1.2.0`");
        let why = problem("slirp4netns", "slirp4netns version 0.3.9").unwrap();
        assert!(why.ends_with("older than 0.4"), "{why}");
    }

    proptest! {
        #[test]
        fn no_version_breaks_the_reader(version in ".{0,30}") {
            let _ = (numbers(&version), problem("slirp4netns", &format!("slirp4netns{version}")));
        }
    }
}
