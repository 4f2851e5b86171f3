//! Data sets that servers need and that take long to make: made once, kept in the user's cache, each copy used by one
//! server at a time.
//!
//! A data set consists of a few equal copies, each with a lock: `mysql-10.11-4x10000/0`, `0.lock`, `1` … A server takes
//! the first free copy and works in it. If all are in use, another one is made. An unfinished copy is made again.

use crate::datasets::dataset_lock;
use rustix::fs::{FlockOperation, flock, statvfs};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tare_secret::{random_bytes, to_hex};
use tare_traffic::Error;

/// Maximum number of copies of one data set.
const MAX_COPIES: usize = 64;
/// File that marks a finished copy.
const COMPLETE: &str = "complete";
/// Space that must stay free in addition to the data: a share of their size, and a number of bytes.
const SPARE: (f64, u64) = (0.1, 64 << 20);

/// Data set in the cache.
pub(crate) struct DatasetDirectory {
    directory: PathBuf,
    /// Shared lock that prevents removal as long as the set or a copy of it is held.
    held: Arc<File>,
}

/// Copy of a data set for exclusive use. Dropping it releases the copy.
#[derive(Debug)]
pub(crate) struct DatasetCopy {
    /// Directory of the copy.
    pub(crate) directory: PathBuf,
    /// Exclusive lock of the copy.
    _lock: File,
    /// Shared lock of the set.
    _set: Arc<File>,
}

impl DatasetDirectory {
    /// Opens the data set of this name in the user's cache, and makes its directory if it is missing.
    ///
    /// # Errors
    /// When there is no cache, or it is not writable.
    pub(crate) fn open(name: &str) -> Result<Self, Error> {
        Self::open_in(&cache_directory()?, name)
    }

    pub(super) fn open_in(cache: &Path, name: &str) -> Result<Self, Error> {
        let directory = cache.join(name);
        let held = create_and_hold(&directory).map_err(|error| {
            Error::Job(format!(
                "cannot keep data in {}: {error}: set XDG_CACHE_HOME to a directory of your own",
                directory.display()
            ))
        })?;
        Ok(Self { directory, held: Arc::new(held) })
    }

    /// Takes a free copy. If there is none, `make` makes one in an empty directory.
    ///
    /// # Errors
    /// When all copies are in use, or the copy cannot be made.
    pub(crate) fn acquire_copy(
        &self,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<DatasetCopy, Error> {
        let mut unmade = None;
        for number in 0..MAX_COPIES {
            let Some(copy) = self.try_lock(number)? else { continue };
            if copy.directory.join(COMPLETE).exists() {
                return Ok(copy);
            }
            if unmade.is_none() {
                unmade = Some(copy);
            }
            // Copies are made in order: after the first missing one there are none.
            if !self.directory.join((number + 1).to_string()).exists() {
                break;
            }
        }
        let copy = unmade.ok_or_else(|| {
            Error::Job(format!(
                "all {MAX_COPIES} copies of {} are in use: wait until other runs have ended",
                self.directory.display()
            ))
        })?;
        let directory = copy.directory.as_path();
        let refused = |error| Error::io(format!("create {}", directory.display()), error);
        remove(directory).and_then(|()| make_private(directory)).map_err(refused)?;
        make(directory)?;
        File::create(directory.join(COMPLETE)).map_err(refused)?;
        Ok(copy)
    }

    /// Returns the password that all copies of the set share. Every user who can read the cache knows it.
    ///
    /// # Errors
    /// When the password cannot be stored.
    pub(crate) fn password(&self) -> Result<String, Error> {
        let path = self.directory.join("secret");
        let refused = |error: io::Error| {
            Error::io(format!("store the password in {}", path.display()), error)
        };
        if let Ok(known) = fs::read_to_string(&path) {
            return Ok(known);
        }
        let text = to_hex(&random_bytes::<16>().map_err(refused)?);
        // The file is complete or does not exist: a link is made atomically, and the first process makes it for all.
        let own = self.directory.join(format!("secret-{}", &text[..8]));
        fs::write(&own, &text).map_err(refused)?;
        let linked = fs::hard_link(&own, &path);
        let _ = fs::remove_file(&own);
        match linked {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(refused(error)),
            _ => fs::read_to_string(&path).map_err(refused),
        }
    }

    /// Locks a copy. Returns `None` if it is in use.
    fn try_lock(&self, number: usize) -> Result<Option<DatasetCopy>, Error> {
        let path = self.directory.join(format!("{number}.lock"));
        let refused = |error: io::Error| Error::io(format!("lock {}", path.display()), error);
        let options = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = options.map_err(refused)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let directory = self.directory.join(number.to_string());
                Ok(Some(DatasetCopy { directory, _lock: lock, _set: Arc::clone(&self.held) }))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(refused(errno.into())),
        }
    }

    /// Checks that the disk has room for `bytes` more, in addition to the space that must stay free.
    ///
    /// # Errors
    /// With the needed size and the free space.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), Error> {
        let place = self.directory.display();
        let there = statvfs(&self.directory)
            .map_err(|errno| Error::io(format!("read the free space of {place}"), errno))?;
        let free = there.f_bavail.saturating_mul(there.f_frsize);
        check_fit(bytes, free, &format!("are free in {place} (XDG_CACHE_HOME)"))
    }
}

/// Checks that this many servers can have a copy each.
///
/// # Errors
/// With both numbers.
pub(crate) fn check_copies(servers: u32) -> Result<(), Error> {
    if servers as usize <= MAX_COPIES {
        return Ok(());
    }
    Err(Error::Job(format!(
        "{servers} servers need a copy of the data set each, but there are at most {MAX_COPIES}: use fewer servers (--servers)"
    )))
}

/// Checks that `bytes` fit into the available memory of this machine.
///
/// # Errors
/// With the needed size and the available memory.
pub(crate) fn check_memory(bytes: u64) -> Result<(), Error> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    // If the kernel does not state its available memory, the check passes.
    kibibytes.map_or(Ok(()), |available: u64| {
        check_fit(bytes, available.saturating_mul(1024), "of memory are available")
    })
}

fn check_fit(bytes: u64, free: u64, of_what: &str) -> Result<(), Error> {
    let (share, spare) = SPARE;
    let needed = bytes.saturating_add((bytes as f64 * share) as u64).saturating_add(spare);
    if needed <= free {
        return Ok(());
    }
    Err(Error::Job(format!(
        "the data set takes about {}, with the reserve that must stay free {}, but only {} {of_what}: use fewer rows (--rows, --tables or --scale; --scaled for a study)",
        format_size(bytes),
        format_size(needed),
        format_size(free)
    )))
}

/// Formats a number of bytes for people, in MB or GB.
pub(crate) fn format_size(bytes: u64) -> String {
    match bytes as f64 {
        few if few < 1e9 => format!("{:.0} MB", few / 1e6),
        many => format!("{:.1} GB", many / 1e9),
    }
}

/// Returns tare's directory in the user's cache.
pub(super) fn cache_directory() -> Result<PathBuf, Error> {
    let variable =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_CACHE_HOME")
        .or_else(|| Some(variable("HOME")?.join(".cache")))
        .map(|cache| cache.join("tare"))
        .ok_or_else(|| {
            Error::Job(
                "cannot keep data: neither XDG_CACHE_HOME nor HOME is set to an absolute path: set XDG_CACHE_HOME to a directory of your own"
                    .to_owned(),
            )
        })
}

/// Makes the directory of a set if it is missing, and takes its shared lock.
fn create_and_hold(directory: &Path) -> io::Result<File> {
    loop {
        make_private(directory)?;
        match dataset_lock::lock_shared(directory) {
            Ok(Some(held)) => {
                dataset_lock::write_tag(directory)?;
                return Ok(held);
            }
            // The directory was removed before the lock was taken.
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

pub(super) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tare_dev::ScratchDirectory;

    /// Cache that does not exist yet. It is removed with the test, also when the test is killed.
    pub(crate) struct Cache {
        pub(crate) path: PathBuf,
        _scratch: ScratchDirectory,
    }

    impl Cache {
        pub(crate) fn new() -> Self {
            let scratch = ScratchDirectory::new();
            Self { path: scratch.path("cache"), _scratch: scratch }
        }
    }

    fn make(directory: &Path) -> Result<(), Error> {
        File::create_new(directory.join("made")).map(drop).map_err(|error| Error::io("make", error))
    }

    fn never(_: &Path) -> Result<(), Error> {
        Err(Error::Job("made again".to_owned()))
    }

    #[test]
    fn a_copy_is_made_once_and_is_one_holders() {
        let cache = Cache::new();
        let data = DatasetDirectory::open_in(&cache.path, "set").unwrap();
        let first = data.acquire_copy(make).unwrap();
        assert!(first.directory.join("made").exists());
        let second = data.acquire_copy(make).unwrap();
        assert_ne!(first.directory, second.directory);
        let free = first.directory.clone();
        drop(first);
        assert_eq!(data.acquire_copy(never).unwrap().directory, free);
    }

    #[test]
    fn a_copy_that_was_not_finished_is_made_anew() {
        let cache = Cache::new();
        let data = DatasetDirectory::open_in(&cache.path, "set").unwrap();
        let failed = data.acquire_copy(|directory| {
            make(directory)?;
            never(directory)
        });
        assert!(failed.unwrap_err().to_string().contains("made again"));
        // This would fail if it found what the first attempt left.
        assert!(data.acquire_copy(make).is_ok());
    }

    #[test]
    fn a_set_has_one_secret() {
        let cache = Cache::new();
        let data = DatasetDirectory::open_in(&cache.path, "set").unwrap();
        let secret = data.password().unwrap();
        assert_eq!(secret.len(), 32);
        assert_eq!(data.password().unwrap(), secret);
        let other = DatasetDirectory::open_in(&cache.path, "other").unwrap();
        assert_ne!(other.password().unwrap(), secret);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_sizes() {
        let cache = Cache::new();
        let data = DatasetDirectory::open_in(&cache.path, "set").unwrap();
        data.check_room(0).unwrap();
        let why = data.check_room(u64::MAX / 2).unwrap_err().to_string();
        assert!(why.contains("GB") && why.contains("--rows"), "{why}");
        assert!(check_memory(u64::MAX / 2).unwrap_err().to_string().contains("of memory"));
        assert!(check_copies(64).is_ok());
        assert!(check_copies(65).unwrap_err().to_string().contains("65 servers"));
        assert_eq!(
            (format_size(24_000_000_000), format_size(2_000_000)),
            ("24.0 GB".into(), "2 MB".into())
        );
    }
}
