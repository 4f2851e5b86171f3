//! Init process of the sandbox, as tare sees it.

use crate::init::READY;
use crate::program::TARE;
use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tare_network::{Error, INTERNAL};

/// Running init process. It ends when its input is closed.
pub(crate) struct InitProcess {
    child: Child,
    _input: ChildStdin,
}

/// Watch on the life of an init process, by the pipe that it keeps open until its end.
///
/// The process itself can be waited for only after all others of its namespace were, so that its exit status comes too
/// late to explain theirs.
pub(crate) struct InitWatch(ChildStdout);

impl InitProcess {
    /// Starts the init process, as the first child that this thread has in a PID namespace of its own. Sends it the
    /// control group's directory (empty if there is none), and waits until it is ready.
    ///
    /// It is the only child that is not killed with its parent, because it has to outlive tare for a moment.
    pub(crate) fn start(group: &[u8]) -> Result<(Self, InitWatch), Error> {
        const WHAT: &str = "start the lab's init process";
        sys::unshare_children()
            .map_err(|error| Error::new("create the lab's PID namespace", error))?;
        let mut command = Command::new(TARE);
        command.arg0("tare").args([INTERNAL, "init"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| Error::new(WHAT, error))?;
        let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::new(WHAT, "it was started without pipes"));
        };
        let mut first = [0];
        let answered = input.write_all(group).and_then(|()| output.read_exact(&mut first));
        if answered.is_ok() && first[0] == READY {
            return Ok((Self { child, _input: input }, InitWatch(output)));
        }
        let _ = child.kill();
        let _ = child.wait();
        Err(Error::new(WHAT, "the init process ended before it was ready"))
    }

    /// Ends the init process, and with it all processes of its namespace.
    pub(crate) fn end(self) {
        let Self { mut child, _input: input } = self;
        drop(input);
        let _ = child.wait();
    }
}

impl InitWatch {
    /// Returns true once the init process has begun to end. Its namespace's other processes are killed after that.
    pub(crate) fn has_ended(&self) -> bool {
        let mut watched = [PollFd::new(&self.0, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = poll(&mut watched, Some(&at_once));
        polled.is_ok() && watched[0].revents().contains(PollFlags::HUP)
    }
}
