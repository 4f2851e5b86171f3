//! Init process of the sandbox's PID namespace.
//!
//! When the init process of a PID namespace ends, the kernel kills all others in it. So this process does little but
//! read a pipe whose only write end belongs to tare: however tare ends, SIGKILL included, the pipe closes, this process
//! ends, and with it every program in the sandbox. The sandbox's network namespaces are held only by descriptors of
//! tare and by those programs, and end with them. If the programs run in a control group, tare sends its directory
//! through the pipe: this process, which is not in the group, waits for the last program and removes the group.

use crate::{cgroup, sys};
use rustix::process::{Pid, getpid};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Byte that the init process writes when it is ready.
pub(crate) const READY: u8 = b'k';

/// Runs the init process until its standard input closes. Returns its exit code.
///
/// This is tare's role `init`, which only tare itself may run. If it is not PID 1 of a
/// PID namespace, it has nothing to do and ends at once.
#[must_use]
pub fn run_init() -> i32 {
    if getpid() != Pid::INIT {
        return 1;
    }
    sys::ignore_children();
    // Name by which users find a running tare. Without it the process is called "exe".
    let _ = rustix::thread::set_name(c"tare");
    let mut output = std::io::stdout();
    if output.write_all(&[READY]).and_then(|()| output.flush()).is_err() {
        return 1;
    }
    let mut directory = Vec::new();
    let read = std::io::stdin().read_to_end(&mut directory);
    if !directory.is_empty() {
        sys::kill_all_others();
        // A group that cannot be removed is empty, and limits no process.
        let _ = cgroup::remove(Path::new(OsStr::from_bytes(&directory)));
    }
    i32::from(read.is_err())
}
