//! Versions that programs state of themselves, which begin with their names.
//!
//! To ask is to run the program. That is done for programs on the PATH, and for those at a path that a name of a network
//! spells only once the network is set up: a study of others may have spelled it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tare_sandbox::programs::run_outside_sandbox;

/// Time limit of a program that is asked for its version, longer than any needs, even under emulation.
const VERSION_TIMEOUT: Duration = Duration::from_secs(60);

/// First version of slirp4netns that takes a namespace by its path.
const LEAST_SLIRP4NETNS: [u32; 2] = [0, 4];

/// Returns the first line that a program prints when it is asked for its version. Each is asked once.
pub(crate) fn stated_version(path: &Path) -> String {
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

/// Returns the reason why a program with this stated version is not the one of this name. Returns `None` if it is.
pub(crate) fn mismatch(name: &str, stated: &str) -> Option<String> {
    let Some(version) = stated.strip_prefix(name) else {
        return Some(format!("its version is `{stated}`"));
    };
    let is_old = name == "slirp4netns"
        && numbers(version).is_some_and(|numbers| numbers < LEAST_SLIRP4NETNS);
    is_old.then(|| format!("its version is `{stated}`, and 0.4 is the oldest that can be used"))
}

/// Returns the version alone: `1.2.0` of `slirp4netns version 1.2.0`. Returns `None` if there is none.
pub(crate) fn version_alone(stated: &str) -> Option<&str> {
    let (_, version) = stated.split_once(' ')?;
    let version = version.trim().strip_prefix("version").unwrap_or(version).trim();
    (!version.is_empty() && version != "unknown version").then_some(version)
}

/// Returns the first two numbers of a version: ` version 1.2.0` is 1 and 2.
fn numbers(version: &str) -> Option<[u32; 2]> {
    let digits = version.find(|one: char| one.is_ascii_digit())?;
    let mut parts = version[digits..].split(|one: char| !one.is_ascii_digit());
    Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_program_is_what_it_states() {
        assert_eq!(mismatch("pasta", "pasta unknown version"), None);
        assert_eq!(mismatch("slirp4netns", "slirp4netns version 1.2.0"), None);
        assert_eq!(mismatch("rootlesskit", "rootlesskit version 1.1.0"), None);
        let why = mismatch("pasta", "slirp4netns version 1.2.0").unwrap();
        assert_eq!(why, "its version is `slirp4netns version 1.2.0`");
        let why = mismatch("slirp4netns", "slirp4netns version 0.3.9").unwrap();
        assert!(why.ends_with("0.4 is the oldest that can be used"), "{why}");
    }

    #[test]
    fn a_version_is_told_without_the_name() {
        assert_eq!(version_alone("slirp4netns version 1.2.0"), Some("1.2.0"));
        assert_eq!(
            version_alone("pasta 0.0~git20250503.587980c-2"),
            Some("0.0~git20250503.587980c-2")
        );
        assert_eq!(version_alone("pasta unknown version"), None);
        assert_eq!(version_alone(""), None);
    }

    proptest! {
        #[test]
        fn no_version_breaks_the_reader(version in ".{0,30}") {
            let stated = format!("slirp4netns{version}");
            let _ = (numbers(&version), mismatch("slirp4netns", &stated), version_alone(&stated));
        }
    }
}
