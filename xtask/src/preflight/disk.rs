//! Free space on the disks of the build and of the tests' scratch directories.

use super::PreflightProblem;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Least free space, in bytes.
const LEAST: u64 = 3 << 30;

/// Checks the disks of the target directory and of temporary files.
pub(super) fn check(repository: &Repository) -> Result<Option<PreflightProblem>> {
    for directory in [repository.target(), std::env::temp_dir()] {
        let free = free_bytes(&existing_ancestor(&directory))?;
        if let Some(problem) = problem(&directory, free) {
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

fn problem(directory: &Path, free: u64) -> Option<PreflightProblem> {
    if free >= LEAST {
        return None;
    }
    Some(PreflightProblem {
        missing: format!(
            "only {} MiB free on the disk of {}, {} MiB needed",
            free >> 20,
            directory.display(),
            LEAST >> 20
        ),
        untested: "the whole workspace is",
        remedy: "free some, or set CARGO_TARGET_DIR or TMPDIR to another disk".to_owned(),
    })
}

fn existing_ancestor(path: &Path) -> PathBuf {
    let existing = path.ancestors().find(|path| path.exists());
    existing.unwrap_or(Path::new("/")).to_owned()
}

/// Returns the bytes that an ordinary user may still write.
fn free_bytes(directory: &Path) -> Result<u64> {
    let figures = rustix::fs::statvfs(directory)
        .with_context(|| format!("cannot read the free space of {}", directory.display()))?;
    Ok(figures.f_bavail.saturating_mul(figures.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_that_is_full_is_named() {
        assert_eq!(problem(Path::new("/tmp"), LEAST), None);
        let full = problem(Path::new("/tmp"), 100 << 20).unwrap();
        assert_eq!(full.missing, "only 100 MiB free on the disk of /tmp, 3072 MiB needed");
    }

    #[test]
    fn a_directory_that_is_not_there_is_on_the_disk_of_its_ancestor() {
        assert_eq!(existing_ancestor(Path::new("/no/such/directory")), Path::new("/"));
        assert!(free_bytes(Path::new("/")).unwrap() > 0);
    }
}
