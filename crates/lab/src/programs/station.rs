//! Where programs of a network run: a network namespace, and a view of files.

use super::process::{ended, ends_within, kill_group};
use super::{Log, Mounts, View, directory};
use crate::lab::Lab;
use crate::namespace::Namespace;
use crate::{program, sys};
use rustix::thread::CpuSet;
use std::ffi::CString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;
use tare_network::Error;

/// Longer than any program needs to start, also under emulation. What hangs is ended then.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

/// A place for programs.
#[derive(Clone)]
pub(crate) struct Station {
    lab: Arc<Lab>,
    namespace: Arc<Namespace>,
    mounts: Arc<Mounts>,
    /// The cores that its programs are held to; nothing for wherever the scheduler puts them.
    cores: Option<CpuSet>,
}

/// What a program has said by its end.
pub(crate) struct Output {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Its standard output.
    pub(crate) said: String,
    /// The line of its standard error that tells most.
    pub(crate) complaint: Option<String>,
}

impl Output {
    /// Its standard output, where it ended with success.
    pub(crate) fn success(self, what: &str) -> Result<String, Error> {
        if self.status.success() {
            return Ok(self.said);
        }
        let complaint = self.complaint.map(|words| format!(": {words}")).unwrap_or_default();
        Err(Error::new(what, format!("{}{complaint}", ended(self.status))))
    }
}

impl Station {
    /// A place with its own view of files.
    pub(crate) fn new(lab: &Arc<Lab>, namespace: &Arc<Namespace>, mounts: Mounts) -> Self {
        let (lab, namespace) = (Arc::clone(lab), Arc::clone(namespace));
        let mounts = Arc::new(mounts);
        lab.mount_proc(&mounts);
        Self { lab, namespace, mounts, cores: None }
    }

    /// The same place, whose programs are held to these cores.
    pub(crate) fn held_to(self, cores: Option<CpuSet>) -> Self {
        Self { cores, ..self }
    }

    /// The namespace's name.
    pub(crate) fn name(&self) -> &str {
        self.namespace.name()
    }

    /// Its view of files.
    pub(crate) fn mounts(&self) -> &Mounts {
        &self.mounts
    }

    /// The same, to be held.
    pub(crate) fn shared_mounts(&self) -> Arc<Mounts> {
        Arc::clone(&self.mounts)
    }

    /// Starts a program, as the leader of a process group.
    pub(crate) fn start(&self, command: Command) -> Result<Child, Error> {
        self.start_in(command, None)
    }

    /// The same, in the directory that the namespace's programs have to themselves.
    pub(crate) fn start_at_home(&self, command: Command) -> Result<Child, Error> {
        let home = CString::new(directory(self.name()));
        self.start_in(command, Some(home.map_err(|error| Error::new("name a directory", error))?))
    }

    fn start_in(&self, mut command: Command, home: Option<CString>) -> Result<Child, Error> {
        command.process_group(0).env("TMPDIR", "/tmp");
        if let Some(cores) = self.cores {
            sys::hold_to_cores_before_exec(&mut command, cores);
        }
        let view = View { mounts: Arc::clone(&self.mounts), home };
        self.lab.start_with(command, Some(Arc::clone(&self.namespace)), Some(view))
    }

    /// Runs a program to its end, with this text as its input; what takes too long is killed.
    ///
    /// It reads and writes memory, no pipes: what it leaves running in the background holds nobody up.
    pub(crate) fn run(&self, command: Command, input: &str) -> Result<Output, Error> {
        self.run_logged(command, input, &Log::in_memory()?)
    }

    /// The same, with its standard error in a log.
    pub(crate) fn run_logged(
        &self,
        mut command: Command,
        input: &str,
        complaints: &Log,
    ) -> Result<Output, Error> {
        let what = format!("run {} in {}", command.get_program().to_string_lossy(), self.name());
        let (input, output) = (Log::with_text(input)?, Log::in_memory()?);
        command.stdin(input.stream()?).stdout(output.stream()?).stderr(complaints.stream()?);
        let mut child = self.start(command)?;
        if !ends_within(&child, PATIENCE) {
            kill_group(&mut child);
            let words = complaints.last_words().map(|words| format!(": {words}"));
            let why = format!(
                "it did not end within {} s{}",
                PATIENCE.as_secs(),
                words.unwrap_or_default()
            );
            return Err(Error::new(what, why));
        }
        let status = child.wait().map_err(|error| Error::new(what, error))?;
        Ok(Output { status, said: output.text(), complaint: complaints.last_words() })
    }
}

/// Where a program is: itself where it is a path, else on the PATH.
pub(super) fn find(name: &str) -> Result<PathBuf, Error> {
    if name.starts_with('/') {
        return Ok(name.into());
    }
    program::find(name).ok_or_else(|| {
        Error::new(format!("start {name}"), "the program is not installed")
            .with_remedy(format!("install {name}, and have it on the PATH"))
    })
}
