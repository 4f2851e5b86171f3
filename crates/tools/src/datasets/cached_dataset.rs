//! Data sets in the user's cache that were made for servers, and their removal by `tare clean --data`.
//!
//! A data set has tare's mark, a `CACHEDIR.TAG` (<https://bford.info/cachedir/>), by which backups skip it too. Every
//! user of a copy holds a shared lock of the set's directory. Removal takes an exclusive lock.

use crate::datasets::dataset_directory::{cache_directory, format_size, remove};
use crate::datasets::dataset_lock::{has_tag, lock_exclusive};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tare_traffic::Error;

/// Data set that was made for servers and is kept in the user's cache.
#[derive(Clone, Debug)]
pub struct CachedDataset {
    directory: PathBuf,
    bytes: u64,
    in_use: bool,
}

impl CachedDataset {
    /// Returns all data sets in the cache that have tare's mark.
    ///
    /// # Errors
    /// When there is no cache directory, or it cannot be read.
    pub fn list() -> Result<Vec<Self>, Error> {
        Self::list_in(&cache_directory()?)
    }

    fn list_in(cache: &Path) -> Result<Vec<Self>, Error> {
        let refused =
            |error| Error::io(format!("list the data sets in {}", cache.display()), error);
        let entries = match fs::read_dir(cache) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(refused)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(refused)?;
            // Symbolic links are not followed.
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && has_tag(&entry.path()) {
                found.push(Self::from_directory(entry.path())?);
            }
        }
        found.sort_by(|one, other| one.directory.cmp(&other.directory));
        Ok(found)
    }

    fn from_directory(directory: PathBuf) -> Result<Self, Error> {
        let in_use = lock_exclusive(&directory)?.is_none();
        Ok(Self { bytes: disk_usage(&directory), directory, in_use })
    }

    /// Returns the directory of the set.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the size on disk, formatted for people.
    #[must_use]
    pub fn size(&self) -> String {
        format_size(self.bytes)
    }

    /// Returns whether a server works in the set, or a copy of it is being made.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.in_use
    }

    /// Removes the set, unless it has come into use. Returns whether it was removed.
    ///
    /// # Errors
    /// When the set cannot be locked, or a file of it cannot be removed.
    pub fn remove(&self) -> Result<bool, Error> {
        let Some(_alone) = lock_exclusive(&self.directory)? else { return Ok(false) };
        remove(&self.directory)
            .map_err(|error| Error::io(format!("remove {}", self.directory.display()), error))?;
        Ok(true)
    }
}

/// Returns the space that a directory takes on disk, bytes. Files that vanish during the call count 0.
fn disk_usage(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(one) if one.is_dir() => disk_usage(&entry.path()),
        Ok(one) => one.blocks().saturating_mul(512),
        Err(_) => 0,
    };
    entries.flatten().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::dataset_directory::{DatasetDirectory, tests::Cache};
    use crate::datasets::dataset_lock::{TAG, lock_shared};
    use tare_dev::eventually;

    fn fill(directory: &Path) -> Result<(), Error> {
        fs::write(directory.join("rows"), vec![1; 100_000])
            .map_err(|error| Error::io("fill", error))
    }

    fn only(cache: &Cache) -> CachedDataset {
        let mut all = CachedDataset::list_in(&cache.path).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn what_is_marked_and_unused_is_removed() {
        let cache = Cache::new();
        assert!(CachedDataset::list_in(&cache.path).unwrap().is_empty(), "there is no cache");
        let copy =
            DatasetDirectory::open_in(&cache.path, "mine").unwrap().acquire_copy(fill).unwrap();
        let other = cache.path.join("somebody's");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(TAG), "Signature: 8a477f597d28d172789f06886806bc55\n").unwrap();
        std::os::unix::fs::symlink(cache.path.join("mine"), cache.path.join("link")).unwrap();

        let used = only(&cache);
        assert!(used.is_in_use() && used.bytes >= 100_000, "{used:?}");
        assert!(!used.remove().unwrap(), "a server works in it");
        assert!(copy.directory.join("rows").exists());

        drop(copy);
        // A program that another test starts inherits the files open here until it executes.
        let free = eventually("it is free", || Some(only(&cache)).filter(|one| !one.is_in_use()));
        eventually("it is removed", || free.remove().unwrap());
        assert!(!free.directory().exists() && other.exists());
        // The set is made again.
        assert!(DatasetDirectory::open_in(&cache.path, "mine").unwrap().acquire_copy(fill).is_ok());
    }

    #[test]
    fn what_was_removed_while_it_was_waited_for_is_not_held() {
        let cache = Cache::new();
        drop(DatasetDirectory::open_in(&cache.path, "set").unwrap());
        let directory = cache.path.join("set");
        assert!(lock_shared(&directory).unwrap().is_some());
        let removing = eventually("nobody holds it", || lock_exclusive(&directory).unwrap());
        let waiting = std::thread::spawn({
            let directory = directory.clone();
            move || lock_shared(&directory)
        });
        remove(&directory).unwrap();
        drop(removing);
        match waiting.join().unwrap() {
            Ok(held) => assert!(held.is_none()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound),
        }
    }
}
