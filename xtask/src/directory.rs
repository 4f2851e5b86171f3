//! Contents of a directory.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the paths of all entries of a directory, in order of their names.
pub(crate) fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("cannot list {}", directory.display());
    let list = fs::read_dir(directory).with_context(failed)?;
    let mut paths: Vec<PathBuf> =
        list.map(|entry| Ok(entry.with_context(failed)?.path())).collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}
