//! Waiting for processes, always with a time limit.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Waits until a child process ends or the time is over. Returns true if it has ended.
pub fn wait_timeout(child: &Child, time: Duration) -> bool {
    let until = Instant::now() + time;
    // Its PID cannot be reused until it is reaped.
    let Ok(descriptor) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return true;
    };
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let Ok(left) = Timespec::try_from(left) else { return false };
        let mut watched = [PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::IN)];
        // After an interrupted wait, the loop polls again.
        if poll(&mut watched, Some(&left)).is_ok_and(|ended| ended > 0) {
            return true;
        }
    }
    false
}

/// Kills a child that leads a process group, with the whole group, and reaps it.
pub fn kill_group(child: &mut Child) {
    // It fails if no process of the group is left, which is the intended state.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

/// Describes the end of a process: by a signal, or with an exit code.
pub fn describe_exit(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("the program was ended by signal {signal}"),
        None => format!("the program ended with exit code {}", status.code().unwrap_or_default()),
    }
}
