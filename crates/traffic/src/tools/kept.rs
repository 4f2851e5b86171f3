//! What is in the user's cache of data that were made for servers, and its removal: what `tare clean --data` does.
//!
//! A set of data carries tare's mark, a `CACHEDIR.TAG` (<https://bford.info/cachedir/>), by which backups leave it out, too.
//! Whoever uses a copy holds a shared lock of the set's directory; it is removed under an exclusive one.

use super::data::{cache, remove, size};
use crate::Error;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The mark's file in a set's directory, and its text.
const TAG: &str = "CACHEDIR.TAG";
const MARK: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# Data that tare made for a server: `tare clean --data` removes them.\n";

/// A set of data that was made for servers and is kept in the user's cache.
#[derive(Clone, Debug)]
pub struct Kept {
    directory: PathBuf,
    bytes: u64,
    in_use: bool,
}

impl Kept {
    /// All that carry tare's mark.
    ///
    /// # Errors
    /// When there is no cache, or it cannot be read.
    pub fn look() -> Result<Vec<Self>, Error> {
        Self::within(&cache()?)
    }

    fn within(cache: &Path) -> Result<Vec<Self>, Error> {
        let refused = |error| Error::io(format!("look into {}", cache.display()), error);
        let entries = match fs::read_dir(cache) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(refused)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(refused)?;
            // Not where a link leads to.
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && is_marked(&entry.path()) {
                found.push(Self::of(entry.path())?);
            }
        }
        found.sort_by(|one, other| one.directory.cmp(&other.directory));
        Ok(found)
    }

    fn of(directory: PathBuf) -> Result<Self, Error> {
        let in_use = alone(&directory)?.is_none();
        Ok(Self { bytes: bytes_below(&directory), directory, in_use })
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it takes, for people.
    #[must_use]
    pub fn size(&self) -> String {
        size(self.bytes)
    }

    /// Whether a server works in it, or it is being made.
    #[must_use]
    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// Removes it, unless it has come into use, and says whether.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn remove(&self) -> Result<bool, Error> {
        let Some(_alone) = alone(&self.directory)? else { return Ok(false) };
        remove(&self.directory)
            .map_err(|error| Error::io(format!("remove {}", self.directory.display()), error))?;
        Ok(true)
    }
}

/// Marks a set's directory as tare's.
pub(super) fn mark(directory: &Path) -> io::Result<()> {
    if is_marked(directory) { Ok(()) } else { fs::write(directory.join(TAG), MARK) }
}

fn is_marked(directory: &Path) -> bool {
    fs::read(directory.join(TAG)).is_ok_and(|text| text == MARK.as_bytes())
}

/// Holds a set against its removal. Nothing where it was removed meanwhile: it shall be made again.
pub(super) fn hold(directory: &Path) -> io::Result<Option<File>> {
    let held = File::open(directory)?;
    flock(&held, FlockOperation::LockShared)?;
    let there = match fs::metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let one = held.metadata()?;
    Ok(((one.dev(), one.ino()) == (there.dev(), there.ino())).then_some(held))
}

/// The lock of nobody else's using a set; nothing where somebody does.
fn alone(directory: &Path) -> Result<Option<File>, Error> {
    let refused = |error: io::Error| Error::io(format!("lock {}", directory.display()), error);
    let lock = File::open(directory).map_err(refused)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(refused(errno.into())),
    }
}

/// What a directory takes on its disk. What vanishes meanwhile takes nothing.
fn bytes_below(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(one) if one.is_dir() => bytes_below(&entry.path()),
        Ok(one) => one.blocks().saturating_mul(512),
        Err(_) => 0,
    };
    entries.flatten().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::data::{Data, tests::Cache};
    use super::*;
    use tare_dev::eventually;

    fn fill(directory: &Path) -> Result<(), Error> {
        fs::write(directory.join("rows"), vec![1; 100_000])
            .map_err(|error| Error::io("fill", error))
    }

    fn only(cache: &Cache) -> Kept {
        let mut all = Kept::within(&cache.path).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn what_is_marked_and_unused_is_removed() {
        let cache = Cache::new();
        assert!(Kept::within(&cache.path).unwrap().is_empty(), "there is no cache");
        let copy = Data::within(&cache.path, "mine").unwrap().take(fill).unwrap();
        let other = cache.path.join("somebody's");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(TAG), "Signature: 8a477f597d28d172789f06886806bc55\n").unwrap();
        std::os::unix::fs::symlink(cache.path.join("mine"), cache.path.join("link")).unwrap();

        let used = only(&cache);
        assert!(used.in_use() && used.bytes >= 100_000, "{used:?}");
        assert!(!used.remove().unwrap(), "a server works in it");
        assert!(copy.directory.join("rows").exists());

        drop(copy);
        // A program that another test starts has what is open here, until it runs.
        let free = eventually("it is free", || Some(only(&cache)).filter(|one| !one.in_use()));
        eventually("it is removed", || free.remove().unwrap());
        assert!(!free.directory().exists() && other.exists());
        // And is made again.
        assert!(Data::within(&cache.path, "mine").unwrap().take(fill).is_ok());
    }

    #[test]
    fn what_was_removed_while_it_was_waited_for_is_not_held() {
        let cache = Cache::new();
        drop(Data::within(&cache.path, "set").unwrap());
        let directory = cache.path.join("set");
        assert!(hold(&directory).unwrap().is_some());
        let removing = eventually("nobody holds it", || alone(&directory).unwrap());
        let waiting = std::thread::spawn({
            let directory = directory.clone();
            move || hold(&directory)
        });
        remove(&directory).unwrap();
        drop(removing);
        match waiting.join().unwrap() {
            Ok(held) => assert!(held.is_none()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound),
        }
    }
}
