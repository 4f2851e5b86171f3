//! System calls on child processes: their set-up between fork and exec, and their CPU time.
//!
//! All `unsafe` code of this crate is here, each block with the reason why it is sound.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, UnshareFlags, sched_setaffinity, unshare_unsafe};
use std::ffi::CStr;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// User as which a child runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// User of the parent.
    #[default]
    Caller,
    /// User `nobody` in a user namespace of its own, which maps to the parent's user outside: for programs that refuse
    /// root.
    Nobody,
}

/// Registers the child's set-up before exec: it pins itself to these cores (any, if `None`), changes its user, and asks
/// the kernel to kill it when the thread that started it ends.
pub(crate) fn prepare_before_exec(command: &mut Command, cores: Option<CpuSet>, user: RunAs) {
    let prepare = move || {
        if let Some(cores) = &cores {
            // A core that does not exist is no reason to stop measuring; the record states where the child ran.
            let _ = sched_setaffinity(None, cores);
        }
        if user == RunAs::Nobody {
            become_nobody()?;
        }
        // Last: a change of credentials clears the setting.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls on values of its own and constants, and nothing
    // else: it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// Moves the process to a user namespace in which it is `nobody`. The process must have a single thread.
fn become_nobody() -> io::Result<()> {
    // SAFETY: the call is unsound only with `FILES`, which would separate the threads' descriptor tables.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER)? };
    // An unprivileged process may map its own group only once it has given up setgroups (user_namespaces(7)).
    write(c"/proc/self/setgroups", b"deny")?;
    write(c"/proc/self/uid_map", b"65534 0 1")?;
    write(c"/proc/self/gid_map", b"65534 0 1")
}

fn write(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}

/// Waits for a child. Returns its exit status and its CPU time, including that of its own children for which it waited.
pub(crate) fn reap_child(child: u32) -> io::Result<(ExitStatus, Duration)> {
    let mut status = 0;
    // SAFETY: a struct of numbers, for which zeros are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to values that live through the call, which only writes to them.
        let waited = unsafe { libc::wait4(child as libc::pid_t, &mut status, 0, &mut usage) };
        if waited >= 0 {
            let time = |time: libc::timeval| {
                Duration::new(
                    time.tv_sec.max(0) as u64,
                    time.tv_usec.clamp(0, 999_999) as u32 * 1000,
                )
            };
            return Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns the CPU time of all threads of a child so far, without its own children. Returns `None` if the kernel does
/// not report it.
pub(crate) fn child_cpu_time(child: u32) -> Option<Duration> {
    // CPU clock of a process, by process ID (clock_getcpuclockid(3), CPUCLOCK_SCHED of include/linux/posix-timers.h).
    let clock = (!(child as libc::clockid_t) << 3) | 2;
    // SAFETY: a struct of numbers, for which zeros are a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a value that lives through the call, which only writes to it.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| {
        Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
    })
}
