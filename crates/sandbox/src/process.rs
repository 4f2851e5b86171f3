//! Program that runs in the sandbox.

use crate::init_process::InitWatch;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use tare_network::{Error, Process, ProcessExit, Stdio};

/// Child of the sandbox's spawner. Dropping it ends the child, and its process group if it has one of its own.
pub struct SandboxProcess {
    child: Child,
    init: Arc<InitWatch>,
    stdio: Stdio,
    ended: Option<ProcessExit>,
}

impl SandboxProcess {
    /// Returns the handle of a child that was just started.
    pub(crate) fn new((child, init): (Child, Arc<InitWatch>), stdio: Stdio) -> Self {
        Self { child, init, stdio, ended: None }
    }

    /// Kills the child without reaping it: until it is reaped, no other process can have its id.
    fn signal(&mut self) {
        match self.stdio {
            Stdio::Piped => {
                if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                    // This fails if no process of the group is left, which is the goal.
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
            Stdio::Inherit => {
                let _ = self.child.kill();
            }
        }
    }
}

impl Process for SandboxProcess {
    fn take_input(&mut self) -> Option<Box<dyn Write + Send>> {
        self.child.stdin.take().map(|stream| Box::new(stream) as _)
    }

    fn take_output(&mut self) -> Option<Box<dyn Read + Send>> {
        self.child.stdout.take().map(|stream| Box::new(stream) as _)
    }

    fn id(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn wait(&mut self) -> Result<ProcessExit, Error> {
        if let Some(exit) = self.ended {
            return Ok(exit);
        }
        let status = self
            .child
            .wait()
            .map_err(|error| Error::new(format!("wait for process {}", self.child.id()), error))?;
        Ok(*self.ended.insert(exit_of(status, &self.init)))
    }

    fn kill(&mut self) {
        if self.ended.is_none() {
            self.signal();
        }
    }
}

impl Drop for SandboxProcess {
    fn drop(&mut self) {
        self.kill();
        // A drop has no caller to report an error to. The end of the init process ends what this did not.
        let _ = self.wait();
    }
}

/// Returns how a process ended. If the init process ends, the kernel ends all others by SIGKILL.
fn exit_of(status: ExitStatus, init: &InitWatch) -> ProcessExit {
    match status.signal() {
        Some(signal) if signal == Signal::KILL.as_raw() && init.has_ended() => {
            ProcessExit::WithSandbox
        }
        Some(signal) => ProcessExit::Signal(signal),
        None => ProcessExit::Code(status.code().unwrap_or_default()),
    }
}
