//! External programs of tools: their paths, their versions, and the remedy when they are missing.

use crate::child_process::ChildProcess;
use crate::command::ToolCommand;
use rustix::fs::{Access, access};
use rustix::process::Signal;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_network::UnmetRequirement;
use tare_traffic::Error;

/// Directories of administrators' programs, which the PATH of an ordinary user lacks.
const SYSTEM_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Time that a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// External program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExternalProgram {
    /// Name of the program.
    pub(crate) name: &'static str,
    /// Instruction that installs the program.
    pub(crate) remedy: &'static str,
    /// Directory of versioned directories that may have the program too, and the subdirectory in each.
    pub(crate) versioned: Option<(&'static str, &'static str)>,
    /// Arguments that make the program print its version.
    pub(crate) version: &'static [&'static str],
}

impl ExternalProgram {
    /// Describes a program on the PATH, which prints its version when given these arguments.
    pub(crate) const fn new(
        name: &'static str,
        remedy: &'static str,
        version: &'static [&'static str],
    ) -> Self {
        Self { name, remedy, versioned: None, version }
    }

    /// Returns the path of the program: the first on the PATH, else in the system's directories, else that of the
    /// highest version.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .chain(SYSTEM_DIRECTORIES.iter().map(PathBuf::from))
            .chain(self.version_directories())
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(self.name))
            .find(|file| is_executable(file))
    }

    /// Returns the directories of its versions, the highest first.
    fn version_directories(&self) -> Vec<PathBuf> {
        let Some((above, below)) = self.versioned else { return Vec::new() };
        let number = |path: &Path| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
        let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
        versions.into_iter().map(|version| version.join(below)).collect()
    }

    /// Returns that the program is missing, with the remedy. Returns `None` if it is installed.
    pub(crate) fn missing(&self) -> Option<UnmetRequirement> {
        self.find().is_none().then(|| UnmetRequirement {
            reason: format!("the program {} is not installed", self.name),
            remedy: self.remedy.to_owned(),
        })
    }

    /// Returns the path of the program.
    ///
    /// # Errors
    /// When this container has no such program. Its files need not be the host's.
    pub(crate) fn require(&self) -> Result<PathBuf, Error> {
        self.find().ok_or_else(|| {
            Error::Job(format!(
                "this container has no program {}: {}; for containers of a remote engine, use an image that has the program (--image)",
                self.name, self.remedy
            ))
        })
    }

    /// Returns the first line with a number in the program's output of its version. Returns `None` if there is none.
    pub(crate) fn version(&self) -> Option<String> {
        let call = ToolCommand::new(self.find()?, self.version.iter().copied());
        let running = ChildProcess::start(&call).ok()?;
        // iperf 2 prints its version and exits with a failure.
        running.ended_within(VERSION_TIMEOUT);
        let (_, said) = running.stop(Signal::KILL, Duration::ZERO).ok()?;
        let lines = said.output.lines().chain(said.errors.lines());
        lines
            .map(str::trim)
            .find(|line| line.contains(|one: char| one.is_ascii_digit()))
            .map(plain_text)
    }
}

/// Removes terminal escapes and control characters from a line, and limits its length.
fn plain_text(line: &str) -> String {
    const LONGEST: usize = 120;
    let mut text = String::new();
    let mut characters = line.chars();
    while let Some(one) = characters.next() {
        if one == '\u{1b}' {
            characters.find(char::is_ascii_alphabetic);
        } else if !one.is_control() {
            text.push(one);
        }
    }
    text.trim().chars().take(LONGEST).collect()
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_missing_with_its_remedy() {
        let program = ExternalProgram::new("no-such-program", "sudo apt-get install it", &[]);
        let missing = program.missing().unwrap();
        assert!(missing.reason.contains("no-such-program"), "{}", missing.reason);
        assert_eq!(missing.remedy, "sudo apt-get install it");
        assert!(program.require().unwrap_err().to_string().contains("no-such-program"));
        assert_eq!(ExternalProgram::new("sh", "", &[]).missing(), None);
    }

    #[test]
    fn a_version_is_the_line_that_has_a_number() {
        let program = ExternalProgram::new(
            "sh",
            "",
            &["-c", "echo; echo name; echo tool 1.2; echo 3 >&2; exit 1"],
        );
        assert_eq!(program.version().as_deref(), Some("tool 1.2"));
        assert_eq!(plain_text("sockperf: \u{1b}[2;35m== 3.7 ==\u{1b}[0m"), "sockperf: == 3.7 ==");
    }
}
