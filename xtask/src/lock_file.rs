//! Versions of dependencies in `Cargo.lock`, before and after a change.

use crate::affected::LOCK;
use crate::change::{self, ChangeBase};
use crate::repository::Repository;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;

#[derive(Deserialize)]
struct LockFile {
    #[serde(default)]
    package: Vec<LockedPackage>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct LockedPackage {
    name: String,
    version: String,
    /// Registry. Absent for packages of the workspace.
    source: Option<String>,
    checksum: Option<String>,
}

/// Returns true if a package from outside of the workspace differs between the base and the work tree. A crate of the
/// workspace that begins to use a package that others use already changes only the file's other lines.
pub(crate) fn has_other_versions(repository: &Repository, base: &ChangeBase) -> Result<bool> {
    let now =
        fs::read_to_string(repository.path(LOCK)).with_context(|| format!("cannot read {LOCK}"))?;
    let Ok(before) = change::file_at(repository, base, LOCK) else { return Ok(true) };
    Ok(external(&before)? != external(&now)?)
}

fn external(text: &str) -> Result<BTreeSet<LockedPackage>> {
    let file: LockFile = toml::from_str(text).with_context(|| format!("cannot parse {LOCK}"))?;
    Ok(file.package.into_iter().filter(|package| package.source.is_some()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKED: &str = "version = 4\n\
        [[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry\"\nchecksum = \"00\"\n\
        [[package]]\nname = \"tare\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n";

    #[test]
    fn only_packages_of_others_have_versions() {
        let before = external(LOCKED).unwrap();
        assert_eq!(before.len(), 1);
        assert!(external(&LOCKED.replace("dependencies = [\n \"a\",\n]", "")).unwrap() == before);
        assert!(external(&LOCKED.replace("0.1.0", "0.2.0")).unwrap() == before);
        assert!(external(&LOCKED.replace("1.0.0", "1.0.1")).unwrap() != before);
        assert!(external(&LOCKED.replace("\"00\"", "\"01\"")).unwrap() != before);
        assert!(external("package = 1").is_err());
    }

    #[test]
    fn the_repository_has_packages_of_others() {
        let repository = Repository::find().unwrap();
        let text = fs::read_to_string(repository.path(LOCK)).unwrap();
        assert!(external(&text).unwrap().iter().any(|package| package.name == "serde"));
    }
}
