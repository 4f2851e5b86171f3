//! A program that runs in the lab.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use tare_network::{Error, Exit, Process, Stdio};

/// A child of the lab's spawner. Dropping it ends it, and its process group where it has one of its own.
pub(crate) struct LabProcess {
    child: Child,
    stdio: Stdio,
    ended: Option<Exit>,
}

impl LabProcess {
    /// A child that was just started.
    pub(crate) fn new(child: Child, stdio: Stdio) -> Self {
        Self { child, stdio, ended: None }
    }

    /// Ends the child without reaping it: until it is reaped, its number can be nobody else's.
    fn signal(&mut self) {
        match self.stdio {
            Stdio::Piped => {
                if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                    // It fails when nobody of the group is left, which is what was wanted.
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
            Stdio::Inherit => {
                let _ = self.child.kill();
            }
        }
    }
}

impl Process for LabProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        self.child.stdin.take().map(|stream| Box::new(stream) as _)
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        self.child.stdout.take().map(|stream| Box::new(stream) as _)
    }

    fn id(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn wait(&mut self) -> Result<Exit, Error> {
        if let Some(exit) = self.ended {
            return Ok(exit);
        }
        let status = self
            .child
            .wait()
            .map_err(|error| Error::new(format!("wait for process {}", self.child.id()), error))?;
        Ok(*self.ended.insert(exit_of(status)))
    }

    fn kill(&mut self) {
        if self.ended.is_none() {
            self.signal();
        }
    }
}

impl Drop for LabProcess {
    fn drop(&mut self) {
        self.kill();
        // Nobody is left to tell; the keeper's end takes whatever this did not.
        let _ = self.wait();
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or_default()),
    }
}
