//! Control group of the sandbox's programs, if there is one (cgroups(7), version 2).
//!
//! Another program has made it and set its limits. The sandbox only moves processes into it, each before exec, and the
//! sandbox's init process removes it when all of them have ended.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tare_network::Error;

/// Longest time that the kernel may take to end the processes of a group.
const PATIENCE: Duration = Duration::from_secs(5);

/// Control group, open for processes that join it.
pub(crate) struct SandboxCgroup {
    directory: PathBuf,
    members: File,
}

impl SandboxCgroup {
    /// Opens the group of this directory. The kernel checks the credentials of the process that opens the file, not of
    /// the process that writes to it.
    pub(crate) fn open(directory: PathBuf) -> Result<Self, Error> {
        let file = directory.join("cgroup.procs");
        let members = File::options().write(true).open(&file).map_err(|error| {
            Error::new(format!("open the control group {}", file.display()), error)
        })?;
        Ok(Self { directory, members })
    }

    /// Returns the directory of the group.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves the calling process into the group. This is one system call, safe for a child between fork and exec.
    pub(crate) fn join(&self) -> io::Result<()> {
        const MYSELF: &[u8] = b"0";
        rustix::io::write(&self.members, MYSELF).map(|_| ())
    }
}

/// Removes a group as soon as no process runs in it. Returns an error if that takes too long.
pub(crate) fn remove(directory: &Path) -> std::io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                wait_until_empty(directory, deadline)?;
            }
            other => return other,
        }
    }
}

/// Waits until a group has no process: the kernel raises POLLPRI on `cgroup.events` at each change.
fn wait_until_empty(directory: &Path, deadline: Instant) -> std::io::Result<()> {
    let mut events = File::open(directory.join("cgroup.events"))?;
    loop {
        let mut text = String::new();
        events.rewind()?;
        events.read_to_string(&mut text)?;
        if text.lines().any(|line| line == "populated 0") {
            return Ok(());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok().filter(|_| !left.is_zero());
        let Some(timeout) = timeout else { return Err(ErrorKind::TimedOut.into()) };
        match poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&timeout)) {
            Ok(_) | Err(io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
