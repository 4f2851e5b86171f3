//! The keeper: the first process of the lab's PID namespace.
//!
//! When the first process of a PID namespace ends, the kernel kills all others in it. So the keeper does little but
//! read a pipe whose only write end is tare's: however tare ends, SIGKILL included, the pipe ends, the keeper ends, and
//! with it every program that runs in the lab. The lab's network namespaces are held only by descriptors of tare's and
//! by those programs, and go with them. Where the programs run in a control group, the pipe has brought its directory:
//! the keeper, which is not in it, sees its last program off and removes it.

use crate::{group, sys};
use rustix::process::{Pid, getpid};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the keeper writes when it keeps.
pub(crate) const READY: u8 = b'k';

/// Runs the keeper until its standard input ends; returns its exit code.
///
/// This is tare's hidden subcommand `keeper`; nothing else may call it. Where it is not the first process of a PID
/// namespace there is nothing to keep, and it ends at once.
#[must_use]
pub fn keeper() -> i32 {
    if getpid() != Pid::INIT {
        return 1;
    }
    sys::forget_children();
    // A name that people looking for a running tare will find; without it the process is called "exe".
    let _ = rustix::thread::set_name(c"tare");
    let mut output = std::io::stdout();
    if output.write_all(&[READY]).and_then(|()| output.flush()).is_err() {
        return 1;
    }
    let mut directory = Vec::new();
    let read = std::io::stdin().read_to_end(&mut directory);
    if !directory.is_empty() {
        sys::kill_all_others();
        // What cannot be removed is empty, and bounds nobody.
        let _ = group::remove(Path::new(OsStr::from_bytes(&directory)));
    }
    i32::from(read.is_err())
}
