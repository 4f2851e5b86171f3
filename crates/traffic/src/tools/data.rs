//! Data that servers need and that take long to make: made once, kept in the user's cache, used by one server at a time.
//!
//! Every set of data is a few equal copies, each with a lock: `mysql-10.11-4x10000/0`, `0.lock`, `1` … A server takes the
//! first that is free and works in it; one more is made where all are taken. A copy that was not finished is made anew.

use super::kept;
use crate::Error;
use rustix::fs::{FlockOperation, flock, statvfs};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most copies of one set of data.
const MOST: usize = 64;
/// What a finished copy has in it.
const COMPLETE: &str = "complete";
/// What stays free beside what is made: a share of it, and so many bytes.
const SPARE: (f64, u64) = (0.1, 64 << 20);

/// A set of data, by its name.
pub(crate) struct Data {
    directory: PathBuf,
    /// Locked against its removal, as long as it or a copy of it is held.
    held: Arc<File>,
}

/// A copy that is the holder's as long as it holds it.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Where it is.
    pub(crate) directory: PathBuf,
    /// Locked.
    _lock: File,
    /// The set is, too.
    _set: Arc<File>,
}

impl Data {
    /// The set of this name in the user's cache.
    ///
    /// # Errors
    /// When there is no cache, or it may not be written to.
    pub(crate) fn of(name: &str) -> Result<Self, Error> {
        Self::within(&cache()?, name)
    }

    pub(super) fn within(cache: &Path, name: &str) -> Result<Self, Error> {
        let directory = cache.join(name);
        let held = held(&directory).map_err(|error| {
            let what = format!(
                "keep data in {}; set XDG_CACHE_HOME to a directory of your own",
                directory.display()
            );
            Error::io(what, error)
        })?;
        Ok(Self { directory, held: Arc::new(held) })
    }

    /// Takes a copy; where none is free, one is made by `make` in an empty directory.
    ///
    /// # Errors
    /// When that fails.
    pub(crate) fn take(
        &self,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Copy, Error> {
        let mut unmade = None;
        for number in 0..MOST {
            let Some(copy) = self.try_lock(number)? else { continue };
            if copy.directory.join(COMPLETE).exists() {
                return Ok(copy);
            }
            if unmade.is_none() {
                unmade = Some(copy);
            }
            // Copies are made in order: beyond one that never was there are none.
            if !self.directory.join((number + 1).to_string()).exists() {
                break;
            }
        }
        let copy = unmade.ok_or_else(|| {
            Error::Job(format!("all {MOST} copies of {} are in use", self.directory.display()))
        })?;
        let directory = copy.directory.as_path();
        let refused = |error| Error::io(format!("make {}", directory.display()), error);
        remove(directory).and_then(|()| make_private(directory)).map_err(refused)?;
        make(directory)?;
        File::create(directory.join(COMPLETE)).map_err(refused)?;
        Ok(copy)
    }

    /// A password that all copies of the set have, known to whoever may read the user's cache.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub(crate) fn secret(&self) -> Result<String, Error> {
        let path = self.directory.join("secret");
        let refused = |error: io::Error| Error::io(format!("keep {}", path.display()), error);
        if let Ok(known) = fs::read_to_string(&path) {
            return Ok(known);
        }
        let mut random = [0; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|errno| refused(errno.into()))?;
        let text = format!("{:032x}", u128::from_ne_bytes(random));
        // Whole, or not there: a link is made at once, and whoever was first has made it for all.
        let own = self.directory.join(format!("secret-{}", &text[..8]));
        fs::write(&own, &text).map_err(refused)?;
        let linked = fs::hard_link(&own, &path);
        let _ = fs::remove_file(&own);
        match linked {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(refused(error)),
            _ => fs::read_to_string(&path).map_err(refused),
        }
    }

    /// A copy, where nobody else has it.
    fn try_lock(&self, number: usize) -> Result<Option<Copy>, Error> {
        let path = self.directory.join(format!("{number}.lock"));
        let refused = |error: io::Error| Error::io(format!("lock {}", path.display()), error);
        let options = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = options.map_err(refused)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let directory = self.directory.join(number.to_string());
                Ok(Some(Copy { directory, _lock: lock, _set: Arc::clone(&self.held) }))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(refused(errno.into())),
        }
    }

    /// Whether there is room for so many bytes more, beside what a disk needs.
    ///
    /// # Errors
    /// With both sizes.
    pub(crate) fn has_room(&self, bytes: u64) -> Result<(), Error> {
        let place = self.directory.display();
        let there = statvfs(&self.directory)
            .map_err(|errno| Error::io(format!("ask for the room in {place}"), errno))?;
        let free = there.f_bavail.saturating_mul(there.f_frsize);
        fits(bytes, free, &format!("free in {place} (XDG_CACHE_HOME)"))
    }
}

/// Whether so many bytes fit into this machine's memory.
///
/// # Errors
/// With both sizes.
pub(crate) fn fits_in_memory(bytes: u64) -> Result<(), Error> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    // A machine that does not say is left to find out.
    kibibytes.map_or(Ok(()), |available: u64| {
        fits(bytes, available.saturating_mul(1024), "of memory available")
    })
}

fn fits(bytes: u64, free: u64, of_what: &str) -> Result<(), Error> {
    let (share, spare) = SPARE;
    let needed = bytes.saturating_add((bytes as f64 * share) as u64).saturating_add(spare);
    if needed <= free {
        return Ok(());
    }
    Err(Error::Job(format!(
        "its data take about {}, with what must stay free {}, and {} are {of_what}: take fewer rows (--rows, --tables; --scaled of a study)",
        size(bytes),
        size(needed),
        size(free)
    )))
}

/// Bytes, for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes as f64 {
        few if few < 1e9 => format!("{:.0} MB", few / 1e6),
        many => format!("{:.1} GB", many / 1e9),
    }
}

/// Where data of tare's are kept.
pub(super) fn cache() -> Result<PathBuf, Error> {
    let variable =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_CACHE_HOME")
        .or_else(|| Some(variable("HOME")?.join(".cache")))
        .map(|cache| cache.join("tare"))
        .ok_or_else(|| {
            Error::Job(
                "there is nowhere to keep data: set XDG_CACHE_HOME to a directory of your own"
                    .to_owned(),
            )
        })
}

/// Makes a set's directory, where there is none, and holds it.
fn held(directory: &Path) -> io::Result<File> {
    loop {
        make_private(directory)?;
        match kept::hold(directory) {
            Ok(Some(held)) => {
                kept::mark(directory)?;
                return Ok(held);
            }
            // It was removed meanwhile.
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
    use tare_dev::Scratch;

    /// Cache that does not exist yet, removed with the test, also when that is killed.
    pub(crate) struct Cache {
        pub(crate) path: PathBuf,
        _scratch: Scratch,
    }

    impl Cache {
        pub(crate) fn new() -> Self {
            let scratch = Scratch::new();
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
        let data = Data::within(&cache.path, "set").unwrap();
        let first = data.take(make).unwrap();
        assert!(first.directory.join("made").exists());
        let second = data.take(make).unwrap();
        assert_ne!(first.directory, second.directory);
        let free = first.directory.clone();
        drop(first);
        assert_eq!(data.take(never).unwrap().directory, free);
    }

    #[test]
    fn a_copy_that_was_not_finished_is_made_anew() {
        let cache = Cache::new();
        let data = Data::within(&cache.path, "set").unwrap();
        let failed = data.take(|directory| {
            make(directory)?;
            never(directory)
        });
        assert!(failed.unwrap_err().to_string().contains("made again"));
        // Finding what the first attempt left, this would fail.
        assert!(data.take(make).is_ok());
    }

    #[test]
    fn a_set_has_one_secret() {
        let cache = Cache::new();
        let data = Data::within(&cache.path, "set").unwrap();
        let secret = data.secret().unwrap();
        assert_eq!(secret.len(), 32);
        assert_eq!(data.secret().unwrap(), secret);
        let other = Data::within(&cache.path, "other").unwrap();
        assert_ne!(other.secret().unwrap(), secret);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_sizes() {
        let cache = Cache::new();
        let data = Data::within(&cache.path, "set").unwrap();
        data.has_room(0).unwrap();
        let why = data.has_room(u64::MAX / 2).unwrap_err().to_string();
        assert!(why.contains("GB") && why.contains("--rows"), "{why}");
        assert!(fits_in_memory(u64::MAX / 2).unwrap_err().to_string().contains("of memory"));
        assert_eq!((size(24_000_000_000), size(2_000_000)), ("24.0 GB".into(), "2 MB".into()));
    }
}
