//! Waiting for processes, never without end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Waits until a child of ours ends, but not longer; whether it has ended.
pub(super) fn ends_within(child: &Child, time: Duration) -> bool {
    let until = Instant::now() + time;
    // Until it is reaped its number can be nobody else's.
    let Ok(descriptor) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return true;
    };
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let Ok(left) = Timespec::try_from(left) else { return false };
        let mut watched = [PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::IN)];
        // An interrupted wait only means another look.
        if poll(&mut watched, Some(&left)).is_ok_and(|ended| ended > 0) {
            return true;
        }
    }
    false
}

/// Kills a child that leads a process group, with its group, and reaps it.
pub(super) fn kill_group(child: &mut Child) {
    // It fails when nobody of the group is left, which is what was wanted.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

/// How a process ended, in words.
pub(super) fn ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("it was ended by signal {signal}"),
        None => format!("it ended with exit code {}", status.code().unwrap_or_default()),
    }
}
