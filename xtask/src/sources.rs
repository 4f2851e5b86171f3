//! Sources of the crates: their directories, and the Rust files below them.

use crate::directory;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the directories of the crates, in order of their names.
pub(crate) fn crates(repository: &Repository) -> Result<Vec<PathBuf>> {
    let mut found = directory::entries(&repository.path("crates"))?;
    found.retain(|path| path.is_dir());
    Ok(found)
}

/// Returns the Rust files below a directory, in order of their paths.
pub(crate) fn rust_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            directory::entries(&directory)?.into_iter().partition(|path| path.is_dir());
        let is_rust = |file: &PathBuf| file.extension().is_some_and(|one| one == "rs");
        found.extend(files.into_iter().filter(is_rust));
        open.extend(folders);
    }
    found.sort();
    Ok(found)
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
