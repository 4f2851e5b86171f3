//! Logs of programs, kept in the result directory or in memory, and quoted in errors.

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, openat};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tare_network::Error;
use tare_record::{DirectoryError, make_own_directory};

/// Length of the end of a log that is read, bytes.
const TAIL: u64 = 64 * 1024;

/// Longest quoted line, characters. A longer one is cut.
const LONGEST: usize = 300;

/// Log of a program, on disk or in memory.
pub struct Log {
    file: File,
    /// Offset of this program's own output, bytes: the output of earlier blocks is before it.
    start: u64,
    path: Option<PathBuf>,
}

/// Opens the file of a log below a run's directory, which may be resumed from an archive of others: no link in it is
/// followed. Returns the file with its length, bytes.
fn open_file(directory: &Path, path: &Path) -> Result<(File, u64), DirectoryError> {
    let entered = make_own_directory(directory)?;
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = path.file_name().unwrap_or_default();
    let file: File = openat(&entered, name, flags, Mode::RUSR | Mode::WUSR)?.into();
    let length = file.metadata()?.len();
    Ok((file, length))
}

impl Log {
    /// Opens the log `NAME.log` in a directory, which is created if it is missing. Without a directory, opens a log in
    /// memory.
    ///
    /// # Errors
    /// The directory or the file cannot be created or opened.
    pub fn open(directory: Option<&Path>, name: &str) -> Result<Self, Error> {
        let Some(directory) = directory else {
            return Self::in_memory();
        };
        let path = directory.join(format!("{name}.log"));
        let (file, start) = open_file(directory, &path).map_err(|error| {
            Error::new(format!("open the log {}", path.display()), error)
                .with_remedy("use --out with a writable directory that has free space")
        })?;
        Ok(Self { file, start, path: Some(path) })
    }

    /// Opens a log in memory, which is freed with its last descriptor.
    ///
    /// # Errors
    /// The kernel has no memory for a file (memfd_create(2)).
    pub fn in_memory() -> Result<Self, Error> {
        let file = memfd_create("tare-log", MemfdFlags::CLOEXEC)
            .map_err(|errno| Error::new("create a log in memory", errno))?;
        Ok(Self { file: file.into(), start: 0, path: None })
    }

    /// Opens a log in memory with this text, to be read from its beginning.
    ///
    /// # Errors
    /// The kernel has no memory for a file of this size.
    pub fn with_text(text: &str) -> Result<Self, Error> {
        let log = Self::in_memory()?;
        let written = log.file.write_all_at(text.as_bytes(), 0);
        written.map_err(|error| Error::new("write the input of a program to memory", error))?;
        Ok(log)
    }

    /// Returns the log as a standard stream, for a program to write to or to read from.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn stdio(&self) -> Result<Stdio, Error> {
        let copy = self.file.try_clone();
        Ok(copy.map_err(|error| Error::new("pass a log to a program", error))?.into())
    }

    /// Returns the path of the log. Returns `None` for a log in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the program's output so far; of a long log, the last 64 KiB.
    pub fn text(&self) -> String {
        self.last_text(TAIL)
    }

    /// Returns the program's whole output so far.
    pub fn whole_text(&self) -> String {
        self.last_text(u64::MAX)
    }

    /// Returns the last `most` bytes of the program's output as text.
    fn last_text(&self, most: u64) -> String {
        let length = self.file.metadata().map_or(0, |data| data.len());
        let from = self.start.max(length.saturating_sub(most));
        let mut bytes = vec![0; usize::try_from(length.saturating_sub(from)).unwrap_or(0)];
        match self.file.read_exact_at(&mut bytes, from) {
            Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => String::new(),
        }
    }

    /// Returns the line that best explains a failure. Returns `None` if the log is empty.
    pub fn error_line(&self) -> Option<String> {
        find_error_line(&self.text())
    }
}

/// Finds the last line that contains a word of an error message, or else the last line that is not empty.
fn find_error_line(text: &str) -> Option<String> {
    const COMPLAINTS: [&str; 8] =
        ["err", "fail", "cannot", "can't", "unable", "refus", "denied", "no such"];
    let complains = |line: &&str| {
        let line = line.to_lowercase();
        COMPLAINTS.iter().any(|word| line.contains(word))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().rfind(complains).or_else(|| lines().next_back())?;
    Some(line.chars().filter(|character| !character.is_control()).take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_line_that_tells_most_is_quoted() {
        assert_eq!(find_error_line("up\n\n"), Some("up".to_owned()));
        assert_eq!(find_error_line("a\nport 7: Failed\nbye\n"), Some("port 7: Failed".to_owned()));
        assert_eq!(find_error_line(" \n"), None);
    }

    #[test]
    fn a_log_in_memory_is_read_as_it_was_written() {
        let log = Log::with_text("one\ntwo\n").unwrap();
        assert_eq!(log.text(), "one\ntwo\n");
        assert_eq!(log.error_line().as_deref(), Some("two"));
        assert_eq!(log.path(), None);
    }

    proptest! {
        #[test]
        fn whatever_is_said_becomes_one_short_line(text in "(?s).{0,600}") {
            if let Some(line) = find_error_line(&text) {
                prop_assert!(!line.contains('\n') && line.chars().count() <= LONGEST);
            }
        }
    }
}
