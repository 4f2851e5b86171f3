//! Execution context of a network's programs: a network namespace and a mount namespace.

use super::child_process::{describe_exit, kill_group, wait_timeout};
use super::{Log, MountNamespace, runtime_directory};
use crate::namespace::Namespace;
use crate::sandbox::Sandbox;
use crate::sys::FilesystemView;
use crate::{program, sys};
use rustix::thread::CpuSet;
use std::ffi::CString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;
use tare_network::Error;

/// Time limit of a program's start, longer than any needs, even under emulation. A program that exceeds it is killed.
pub const START_TIMEOUT: Duration = Duration::from_secs(90);

/// Execution context of programs: network namespace, mount namespace and cores.
#[derive(Clone)]
pub struct ExecContext {
    sandbox: Arc<Sandbox>,
    namespace: Arc<Namespace>,
    mounts: Arc<MountNamespace>,
    /// Cores to which its programs are pinned; `None` leaves it to the scheduler.
    cores: Option<CpuSet>,
}

/// Output and exit status of a program that has ended.
pub struct CommandOutput {
    /// Exit status, or the signal that ended it.
    pub status: ExitStatus,
    /// Standard output, as text.
    pub stdout: String,
    /// Line of its standard error that best explains a failure, if there is one.
    pub error_line: Option<String>,
}

impl CommandOutput {
    /// Returns the standard output.
    ///
    /// # Errors
    /// The program did not exit with success: its exit status and the line of its standard error.
    pub fn into_stdout(self, what: &str) -> Result<String, Error> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let complaint = self.error_line.map(|words| format!(": {words}")).unwrap_or_default();
        Err(Error::new(what, format!("{}{complaint}", describe_exit(self.status))))
    }
}

impl ExecContext {
    /// Creates an execution context with its own mount namespace.
    pub fn new(sandbox: &Arc<Sandbox>, namespace: &Arc<Namespace>, mounts: MountNamespace) -> Self {
        let (sandbox, namespace) = (Arc::clone(sandbox), Arc::clone(namespace));
        let mounts = Arc::new(mounts);
        sandbox.mount_proc(&mounts);
        Self { sandbox, namespace, mounts, cores: None }
    }

    /// Sets the cores to which programs are pinned.
    pub fn with_cores(self, cores: Option<CpuSet>) -> Self {
        Self { cores, ..self }
    }

    /// Returns the name of the network namespace.
    pub fn name(&self) -> &str {
        self.namespace.name()
    }

    /// Returns the mount namespace.
    pub fn mounts(&self) -> &MountNamespace {
        &self.mounts
    }

    /// Returns a shared handle of the mount namespace.
    pub fn shared_mounts(&self) -> Arc<MountNamespace> {
        Arc::clone(&self.mounts)
    }

    /// Starts a program as the leader of a new process group.
    ///
    /// # Errors
    /// The program does not exist or cannot be executed, or its namespaces cannot be entered.
    pub fn start(&self, command: Command) -> Result<Child, Error> {
        self.start_in(command, None)
    }

    /// Starts a program as the leader of a new process group, in the private directory of its namespace
    /// ([`runtime_directory`](super::runtime_directory)).
    ///
    /// # Errors
    /// As for [`ExecContext::start`].
    pub fn start_in_runtime_directory(&self, command: Command) -> Result<Child, Error> {
        let home = CString::new(runtime_directory(self.name()));
        self.start_in(
            command,
            Some(home.map_err(|error| Error::new("use the path of the runtime directory", error))?),
        )
    }

    fn start_in(&self, mut command: Command, home: Option<CString>) -> Result<Child, Error> {
        command.process_group(0).env("TMPDIR", "/tmp");
        if let Some(cores) = self.cores {
            sys::pin_before_exec(&mut command, cores);
        }
        let view = FilesystemView { mounts: self.mounts.clone(), working_directory: home };
        self.sandbox.start_with_mounts(command, Some(Arc::clone(&self.namespace)), Some(view))
    }

    /// Runs a program to its end with this text as its standard input. Kills it and fails if it takes too long.
    ///
    /// Its streams are files in memory, not pipes: processes that it leaves in the background do not block the wait.
    ///
    /// # Errors
    /// The program cannot be started, or does not end within [`START_TIMEOUT`]; then it is killed.
    pub fn run(&self, command: Command, input: &str) -> Result<CommandOutput, Error> {
        self.run_logged(command, input, &Log::in_memory()?)
    }

    /// Runs a program as [`Self::run`] does, with its standard error in a log.
    ///
    /// # Errors
    /// As for [`ExecContext::run`].
    pub fn run_logged(
        &self,
        mut command: Command,
        input: &str,
        complaints: &Log,
    ) -> Result<CommandOutput, Error> {
        let what = format!("run {} in {}", command.get_program().to_string_lossy(), self.name());
        let (input, output) = (Log::with_text(input)?, Log::in_memory()?);
        command.stdin(input.stdio()?).stdout(output.stdio()?).stderr(complaints.stdio()?);
        let status = wait_or_kill(self.start(command)?, START_TIMEOUT, complaints)
            .map_err(|why| Error::new(what, why))?;
        Ok(CommandOutput {
            status,
            stdout: output.whole_text(),
            error_line: complaints.error_line(),
        })
    }
}

/// Runs a program outside of the sandbox, otherwise as [`ExecContext::run`] does. Kills it and fails if it takes longer
/// than `limit`.
///
/// # Errors
/// The program cannot be started, or does not end in time; then it is killed.
pub fn run_outside_sandbox(
    mut command: Command,
    input: &str,
    limit: Duration,
) -> Result<CommandOutput, Error> {
    let what = format!("run {}", command.get_program().to_string_lossy());
    let (input, output, complaints) =
        (Log::with_text(input)?, Log::in_memory()?, Log::in_memory()?);
    command.stdin(input.stdio()?).stdout(output.stdio()?).stderr(complaints.stdio()?);
    command.process_group(0);
    sys::enter_before_exec(&mut command, None, None, None);
    let child = command.spawn().map_err(|error| Error::new(&what, error))?;
    let status = wait_or_kill(child, limit, &complaints).map_err(|why| Error::new(what, why))?;
    Ok(CommandOutput { status, stdout: output.whole_text(), error_line: complaints.error_line() })
}

/// Waits for the end of a program that leads a process group. If it takes longer than `limit`, kills the group and
/// returns the reason of the failure, with the line of its log that explains it best.
fn wait_or_kill(mut child: Child, limit: Duration, complaints: &Log) -> Result<ExitStatus, String> {
    if wait_timeout(&child, limit) {
        return child.wait().map_err(|error| error.to_string());
    }
    kill_group(&mut child);
    let words = complaints.error_line().map(|words| format!(": {words}")).unwrap_or_default();
    Err(format!("the program did not end within {} s{words}", limit.as_secs_f64()))
}

/// Returns the path of a program: the name itself if it is absolute, otherwise its file on the PATH.
///
/// # Errors
/// The program is not installed.
pub fn find_program(name: &str) -> Result<PathBuf, Error> {
    if name.starts_with('/') {
        return Ok(name.into());
    }
    program::find(name).ok_or_else(|| {
        Error::new(format!("start {name}"), format!("the program {name} is not installed"))
            .with_remedy(format!("install {name}, and add its directory to PATH"))
    })
}
