//! Command of an external program.

use crate::sys::{self, RunAs};
use rustix::thread::CpuSet;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Text for a program's standard input: a password, which in arguments every user of the machine could read.
#[derive(Clone)]
struct SecretInput(String);

impl fmt::Debug for SecretInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// Command: program, arguments, environment, input, user and cores.
#[derive(Clone, Debug)]
pub(crate) struct ToolCommand {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    input: Option<SecretInput>,
    directory: Option<PathBuf>,
    user: RunAs,
    cores: Vec<u32>,
}

impl ToolCommand {
    /// Creates a command of a program with these arguments.
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
            user: RunAs::Caller,
            cores: Vec::new(),
        }
    }

    /// Adds arguments.
    pub(crate) fn with_arguments<S: Into<String>>(
        mut self,
        more: impl IntoIterator<Item = S>,
    ) -> Self {
        self.arguments.extend(more.into_iter().map(Into::into));
        self
    }

    /// Adds an environment variable.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the text of the standard input, which ends after it. The text is at most what a pipe holds (pipe(7): 64
    /// KiB).
    pub(crate) fn with_input(self, text: String) -> Self {
        Self { input: Some(SecretInput(text)), ..self }
    }

    /// Sets the working directory.
    pub(crate) fn in_directory(self, directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// Sets the user as which the program runs.
    pub(crate) fn run_as(self, user: RunAs) -> Self {
        Self { user, ..self }
    }

    /// Sets the cores on which the program runs. Empty for all cores.
    pub(crate) fn on_cores(self, cores: Vec<u32>) -> Self {
        Self { cores, ..self }
    }

    /// Returns the file name of the program.
    pub(crate) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the text of the standard input. Returns `None` if none is set.
    pub(crate) fn input(&self) -> Option<&str> {
        self.input.as_ref().map(|SecretInput(text)| text.as_str())
    }

    /// Returns the command for the standard library.
    pub(crate) fn to_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // The output's numbers are parsed: they must not depend on a locale.
        command.env("LC_ALL", "C");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let input = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::prepare_before_exec(&mut command, cpu_set(&self.cores), self.user);
        command
    }
}

/// Converts core numbers to the kernel's set. Returns `None` if there are none.
fn cpu_set(cores: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let there = cores.iter().map(|&core| core as usize).filter(|&core| core < CpuSet::MAX_CPU);
    there.for_each(|core| set.set(core));
    (set.count() > 0).then_some(set)
}
