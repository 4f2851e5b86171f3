//! Mark and locks of a data set's directory.
//!
//! The mark is a `CACHEDIR.TAG` (<https://bford.info/cachedir/>). Every user of a copy holds a shared lock of the
//! directory; removal takes an exclusive lock.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tare_traffic::Error;

/// Name and text of the mark in a set's directory.
pub(super) const TAG: &str = "CACHEDIR.TAG";
const MARK: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# Data that tare made for a server: `tare clean --data` removes them.\n";

/// Writes tare's mark into the directory of a set.
pub(super) fn write_tag(directory: &Path) -> io::Result<()> {
    if has_tag(directory) { Ok(()) } else { fs::write(directory.join(TAG), MARK) }
}

pub(super) fn has_tag(directory: &Path) -> bool {
    fs::read(directory.join(TAG)).is_ok_and(|text| text == MARK.as_bytes())
}

/// Takes the shared lock of a set, which prevents its removal. Returns `None` if the set was removed before: it must be
/// made again.
pub(super) fn lock_shared(directory: &Path) -> io::Result<Option<File>> {
    let held = File::open(directory)?;
    flock(&held, FlockOperation::LockShared)?;
    let there = match fs::metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let one = held.metadata()?;
    Ok(((one.dev(), one.ino()) == (there.dev(), there.ino())).then_some(held))
}

/// Takes the exclusive lock of a set. Returns `None` if it is in use.
pub(super) fn lock_exclusive(directory: &Path) -> Result<Option<File>, Error> {
    let refused = |error: io::Error| Error::io(format!("lock {}", directory.display()), error);
    let lock = File::open(directory).map_err(refused)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(refused(errno.into())),
    }
}
