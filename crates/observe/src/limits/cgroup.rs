//! Operations on one control group: creation, writing of its files, removal.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time limit for the kernel to end the processes of a group.
const KILL_TIMEOUT: Duration = Duration::from_secs(20);

/// Creates a group.
pub(super) fn create(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        // A run with the same process id was killed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove(directory)?;
            fs::create_dir(directory)
        }
        other => other,
    }
}

/// Returns `true` if groups can be created in this group and processes can be moved between them.
pub(super) fn is_writable(directory: &Path) -> bool {
    access(directory, Access::WRITE_OK).is_ok()
        && access(directory.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

/// Writes one of a group's files.
pub(super) fn write_value(directory: &Path, file: &str, value: u64) -> io::Result<()> {
    fs::write(directory.join(file), value.to_string())
}

/// Ends all processes of a group and removes it.
///
/// # Errors
/// Returns an error if the group does not exist, or if a process in it does not end.
pub fn remove(directory: &Path) -> io::Result<()> {
    if !wait_until_empty(directory, Instant::now()) {
        // Linux has cgroup.kill since 5.14; on older kernels a group can be removed only after its processes have ended
        // by themselves.
        let _ = fs::write(directory.join("cgroup.kill"), "1");
        wait_until_empty(directory, Instant::now() + KILL_TIMEOUT);
    }
    fs::remove_dir(directory)
}

/// Waits until a group has no process, or until the deadline. Returns `true` if the group is empty. The kernel raises
/// POLLPRI on `cgroup.events` at each change.
fn wait_until_empty(directory: &Path, deadline: Instant) -> bool {
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
        // An interrupted or failed wait only means another pass.
        let _ = poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&timeout));
    }
}
