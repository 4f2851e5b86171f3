//! The programs that tools are: where they are, what version, and what to do where they are missing.

use super::call::Call;
use super::offspring::Offspring;
use crate::Error;
use rustix::fs::{Access, access};
use rustix::process::Signal;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_network::Missing;

/// Where administrators' programs are; an ordinary user's PATH lacks them.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// How long a program may take to say its version.
const SAYS_ITS_VERSION: Duration = Duration::from_secs(5);

/// A program of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: &'static str,
    /// What installs it.
    pub(crate) remedy: &'static str,
    /// A directory of versioned directories in which it is as well, and where in each.
    pub(crate) versioned: Option<(&'static str, &'static str)>,
    /// The arguments that make it say its version.
    pub(crate) version: &'static [&'static str],
}

impl Program {
    /// A program on the PATH, which says its version when asked so.
    pub(crate) const fn new(
        name: &'static str,
        remedy: &'static str,
        version: &'static [&'static str],
    ) -> Self {
        Self { name, remedy, versioned: None, version }
    }

    /// Its path: the first on the PATH, else among the system's, else the highest of its versions.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .chain(SYSTEM.iter().map(PathBuf::from))
            .chain(self.of_versions())
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(self.name))
            .find(|file| is_executable(file))
    }

    /// The directories of its versions, the highest first.
    fn of_versions(&self) -> Vec<PathBuf> {
        let Some((above, below)) = self.versioned else { return Vec::new() };
        let number = |path: &Path| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
        let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
        versions.into_iter().map(|version| version.join(below)).collect()
    }

    /// That it is not there, and what installs it; nothing where it is.
    pub(crate) fn missing(&self) -> Option<Missing> {
        self.find().is_none().then(|| Missing {
            reason: format!("the program {} is not installed", self.name),
            remedy: self.remedy.to_owned(),
        })
    }

    /// Its path.
    ///
    /// # Errors
    /// Where it is not there: in this container, whose files need not be the host's.
    pub(crate) fn require(&self) -> Result<PathBuf, Error> {
        self.find().ok_or_else(|| {
            Error::Job(format!(
                "this container has no program {}: {}; for containers of an engine elsewhere name an image that has it (--image)",
                self.name, self.remedy
            ))
        })
    }

    /// The first line with a number in what it says of its version; nothing where it says none.
    pub(crate) fn version(&self) -> Option<String> {
        let call = Call::new(self.find()?, self.version.iter().copied());
        let running = Offspring::start(&call).ok()?;
        // iperf 2 says it and fails.
        running.ended_within(SAYS_ITS_VERSION);
        let (_, said) = running.stop(Signal::KILL, Duration::ZERO).ok()?;
        let lines = said.output.lines().chain(said.errors.lines());
        lines.map(str::trim).find(|line| line.contains(|one: char| one.is_ascii_digit())).map(plain)
    }
}

/// A line without what colours a terminal, and not longer than a line.
fn plain(line: &str) -> String {
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
        let program = Program::new("no-such-program", "sudo apt-get install it", &[]);
        let missing = program.missing().unwrap();
        assert!(missing.reason.contains("no-such-program"), "{}", missing.reason);
        assert_eq!(missing.remedy, "sudo apt-get install it");
        assert!(program.require().unwrap_err().to_string().contains("no-such-program"));
        assert_eq!(Program::new("sh", "", &[]).missing(), None);
    }

    #[test]
    fn a_version_is_the_line_that_has_a_number() {
        let program =
            Program::new("sh", "", &["-c", "echo; echo name; echo tool 1.2; echo 3 >&2; exit 1"]);
        assert_eq!(program.version().as_deref(), Some("tool 1.2"));
        assert_eq!(plain("sockperf: \u{1b}[2;35m== 3.7 ==\u{1b}[0m"), "sockperf: == 3.7 ==");
    }
}
