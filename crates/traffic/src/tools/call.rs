//! How a program of others is to be started.

use crate::sys::{self, As};
use rustix::thread::CpuSet;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a program reads on its standard input: a password, which arguments would tell to every user of the machine.
#[derive(Clone)]
struct Untold(String);

impl fmt::Debug for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("untold")
    }
}

/// A program to start.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    input: Option<Untold>,
    directory: Option<PathBuf>,
    user: As,
    cores: Vec<u32>,
}

impl Call {
    /// A program with these arguments.
    pub(crate) fn new<S: Into<String>>(
        program: PathBuf,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            program,
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            input: None,
            directory: None,
            user: As::Caller,
            cores: Vec::new(),
        }
    }

    /// With more arguments.
    pub(crate) fn with<S: Into<String>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// With a variable in its environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this on its standard input, which ends with it; no more than a pipe holds (pipe(7): 64 KiB).
    pub(crate) fn reading(self, text: String) -> Self {
        Self { input: Some(Untold(text)), ..self }
    }

    /// In this directory.
    pub(crate) fn within(self, directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// As this user.
    pub(crate) fn run_as(self, user: As) -> Self {
        Self { user, ..self }
    }

    /// On these cores; none for all.
    pub(crate) fn on(self, cores: Vec<u32>) -> Self {
        Self { cores, ..self }
    }

    /// The program's name.
    pub(crate) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What it reads on its standard input.
    pub(super) fn input(&self) -> Option<&str> {
        self.input.as_ref().map(|Untold(text)| text.as_str())
    }

    /// As the standard library starts it.
    pub(super) fn prepared(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // Numbers are read: they shall be written as everywhere.
        command.env("LC_ALL", "C");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let input = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::before_exec(&mut command, cpu_set(&self.cores), self.user);
        command
    }
}

/// Cores as the kernel takes them; nothing for none.
fn cpu_set(cores: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let there = cores.iter().map(|&core| core as usize).filter(|&core| core < CpuSet::MAX_CPU);
    there.for_each(|core| set.set(core));
    (set.count() > 0).then_some(set)
}
