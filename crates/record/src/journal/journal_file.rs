//! File of a journal, which one process at a time writes.

use super::error::Error;
use super::parsed_journal::Journal;
use super::record::{FILE, Record, ResumePoint, RunEnd};
use crate::directory::{make_private_directory, open_own_directory};
use crate::{DirectoryError, StoppedBy};
use rustix::fs::{Mode, OFlags, openat};
use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Destination of the records of a run.
pub trait RecordSink {
    /// Stores one record durably before it returns.
    ///
    /// # Errors
    /// Fails if the record cannot be stored.
    fn append(&mut self, record: &Record) -> Result<(), Error>;
}

/// In-memory destination for tests and simulations.
impl RecordSink for Vec<Record> {
    fn append(&mut self, record: &Record) -> Result<(), Error> {
        self.push(record.clone());
        Ok(())
    }
}

/// Journal that this process alone may write. Others may read it. The lock ends with the process, however it ends.
#[derive(Debug)]
pub struct LockedJournal {
    file: File,
    path: PathBuf,
}

impl LockedJournal {
    /// Opens the journal in a run's directory and locks it.
    ///
    /// # Errors
    /// Fails if there is no journal, if it cannot be written, if another process has it, or if the directory is another
    /// user's or is named through a symbolic link.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        // Without this, a missing journal would be one that cannot be written.
        File::open(&path).map_err(Error::read(&path))?;
        let entered = open_own_directory(directory).map_err(not_ours(directory))?;
        let file = open_at(&entered, OFlags::empty()).map_err(Error::write(&path))?;
        Self::lock(file, path)
    }

    fn lock(file: File, path: PathBuf) -> Result<Self, Error> {
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path }),
            Err(TryLockError::Error(error)) => Err(Error::write(&path)(error)),
        }
    }

    /// Reads the journal, as [`Journal::read`] does.
    ///
    /// # Errors
    /// Fails as [`Journal::read`] does.
    pub fn read(&self) -> Result<Journal, Error> {
        (&self.file).rewind().map_err(Error::read(&self.path))?;
        Journal::parse(BufReader::new(&self.file), &self.path)
    }

    /// Returns the writer of further records, and truncates a torn last line.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn into_writer(self) -> Result<JournalWriter, Error> {
        let Self { file, path } = self;
        let truncated = whole_lines(&file).and_then(|length| file.set_len(length));
        truncated.map_err(Error::write(&path))?;
        Ok(JournalWriter { file, path, resumed: None })
    }
}

/// Returns the length of a file up to its last newline, bytes.
fn whole_lines(file: &File) -> io::Result<u64> {
    const CHUNK: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, start)?;
        if let Some(at) = bytes.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Writer of a journal file, which is locked for as long as it lives.
#[derive(Debug)]
pub struct JournalWriter {
    file: File,
    path: PathBuf,
    /// Continuation of the run, of which nothing is written yet.
    resumed: Option<PendingResume>,
}

/// Continuation that is written with the first record after it.
#[derive(Debug)]
struct PendingResume {
    line: Vec<u8>,
    /// Condition that ended the run before, if it had ended.
    ended_by: Option<StoppedBy>,
}

impl PendingResume {
    /// Returns true if a run that has measured nothing since leaves its journal as it was: it goes on being interrupted,
    /// or finished.
    fn changes_nothing(&self, end: &RunEnd) -> bool {
        let was_finished = self.ended_by.is_some_and(|by| by != StoppedBy::Interrupted);
        was_finished || end.stopped_by == StoppedBy::Interrupted
    }
}

impl JournalWriter {
    /// Creates a new journal in an empty directory of this user alone, and the directory if it is missing.
    ///
    /// # Errors
    /// Fails if the directory already holds a journal or other files, if it is another user's or is named through a
    /// symbolic link, or if the journal cannot be created.
    pub fn create(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        if path.symlink_metadata().is_ok() {
            return Err(Error::Exists { path: directory.to_owned() });
        }
        let entered = make_private_directory(directory).map_err(not_ours(directory))?;
        let create = OFlags::CREATE | OFlags::EXCL;
        let file = open_at(&entered, create).map_err(Error::write(&path))?;
        let LockedJournal { file, path } = LockedJournal::lock(file, path)?;
        // A file that is synced can still be lost with its name.
        File::from(entered).sync_all().map_err(Error::write(directory))?;
        Ok(Self { file, path, resumed: None })
    }

    /// Resumes the run from a block on, which had ended by this condition if it had. What is there of it becomes void with
    /// the first record that is measured anew, and not before: a run that is resumed and measures nothing keeps its
    /// journal.
    ///
    /// # Errors
    /// Fails if the record cannot be serialized.
    pub fn resume(&mut self, from: &ResumePoint, ended_by: Option<StoppedBy>) -> Result<(), Error> {
        let line = serialize(&Record::Resumed(from.clone())).map_err(Error::write(&self.path))?;
        self.resumed = Some(PendingResume { line, ended_by });
        Ok(())
    }

    /// Returns the path of the journal file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens the journal of a directory for reading and appending.
fn open_at(directory: &OwnedFd, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, FILE, flags | more, Mode::RUSR | Mode::WUSR)?.into())
}

fn not_ours(directory: &Path) -> impl FnOnce(DirectoryError) -> Error + '_ {
    |source| Error::Directory { path: directory.to_owned(), source }
}

impl RecordSink for JournalWriter {
    fn append(&mut self, record: &Record) -> Result<(), Error> {
        if let (Some(resumed), Record::End(end)) = (&self.resumed, record)
            && resumed.changes_nothing(end)
        {
            return Ok(());
        }
        let resumed = self.resumed.as_ref().map_or(&[][..], |resumed| &resumed.line);
        let stored = serialize(record)
            .and_then(|line| append_whole(&mut self.file, &[resumed, &line].concat()));
        stored.map_err(Error::write(&self.path))?;
        self.resumed = None;
        Ok(())
    }
}

fn serialize(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// Appends lines durably. If they have no room on the disk, none of them stays.
fn append_whole(file: &mut File, lines: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(lines).and_then(|()| file.sync_data()).inspect_err(|_| {
        // A reader takes a torn last line for none.
        let _ = file.set_len(before);
    })
}
