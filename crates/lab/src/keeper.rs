//! The keeper: the first process of the lab's PID namespace.
//!
//! When the first process of a PID namespace ends, the kernel kills all others in it. So the keeper does nothing but
//! read a pipe whose only write end is tare's: however tare ends, SIGKILL included, the pipe ends, the keeper ends, and
//! with it every program that runs in the lab. The lab's network namespaces are held only by descriptors of tare's and
//! by those programs, and go with them.

use crate::sys;
use std::io::{Read, Write};

/// What the keeper writes when it keeps.
pub(crate) const READY: u8 = b'k';

/// Runs the keeper until its standard input ends; returns its exit code.
///
/// This is tare's hidden subcommand `keeper`; nothing else may call it.
#[must_use]
pub fn keeper() -> i32 {
    sys::forget_children();
    // A name that people looking for a running tare will find; without it the process is called "exe".
    let _ = rustix::thread::set_name(c"tare");
    let mut output = std::io::stdout();
    if output.write_all(&[READY]).and_then(|()| output.flush()).is_err() {
        return 1;
    }
    let mut nothing = [0];
    loop {
        match std::io::stdin().read(&mut nothing) {
            Ok(0) => return 0,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return 1,
        }
    }
}
