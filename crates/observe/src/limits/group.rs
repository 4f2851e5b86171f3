//! One control group: its directory, its files, its end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the kernel may take to end what is in a group.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes a group.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        // A run of the same process number was killed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove(directory)?;
            fs::create_dir(directory)
        }
        other => other,
    }
}

/// Whether groups can be made in a group and processes be moved from one to the other.
pub(super) fn writable(directory: &Path) -> bool {
    access(directory, Access::WRITE_OK).is_ok()
        && access(directory.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

/// Writes one of a group's files.
pub(super) fn set(directory: &Path, file: &str, value: u64) -> io::Result<()> {
    fs::write(directory.join(file), value.to_string())
}

/// Ends everything in a group and removes it.
///
/// # Errors
/// When there is no such group, or something in it does not end.
pub fn remove(directory: &Path) -> io::Result<()> {
    if !emptied(directory, Instant::now()) {
        // Linux has cgroup.kill since 5.14; before, only what has ended by itself can be removed.
        let _ = fs::write(directory.join("cgroup.kill"), "1");
        emptied(directory, Instant::now() + PATIENCE);
    }
    fs::remove_dir(directory)
}

/// Waits until a group has no process, or the deadline: the kernel raises POLLPRI on `cgroup.events` at each change.
fn emptied(directory: &Path, deadline: Instant) -> bool {
    let Ok(mut events) = File::open(directory.join("cgroup.events")) else {
        return true;
    };
    loop {
        let mut text = String::new();
        let read = events.rewind().and_then(|()| events.read_to_string(&mut text));
        if read.is_err() || text.lines().any(|line| line == "populated 0") {
            return true;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok().filter(|_| !left.is_zero());
        let Some(timeout) = timeout else { return false };
        // An interrupted or failed wait only means another look.
        let _ = poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&timeout));
    }
}
