//! Errors of reading and writing a journal.

use super::record::FORMAT;
use crate::{DirectoryError, InvalidPlan};
use std::io;
use std::path::{Path, PathBuf};

/// Error of reading or writing a journal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}: name the directory of a run", path = path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the read.
        source: io::Error,
    },
    /// The file cannot be created or written.
    #[error("cannot write {path}: {source}: choose a writable directory with free space by --out", path = path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the write.
        source: io::Error,
    },
    /// The directory already holds a journal.
    #[error("{path} already holds a run: choose another --out, or continue the run with `tare resume`", path = path.display())]
    Exists {
        /// Directory of the run.
        path: PathBuf,
    },
    /// The directory is not one to write a run to.
    #[error("cannot write to {path}: {source}: use a directory of your own, named without links; --out needs a new or empty one", path = path.display())]
    Directory {
        /// Directory of the run.
        path: PathBuf,
        /// Reason.
        source: DirectoryError,
    },
    /// Another process writes the journal.
    #[error("cannot write {path}: another tare measures this run: wait until it has ended, or stop it", path = path.display())]
    InUse {
        /// Path of the file.
        path: PathBuf,
    },
    /// The first line is not a [`Record::Run`](super::Record::Run).
    #[error("{path} is not a journal of tare: its first line is not a run record ({reason}): name the directory of a run", path = path.display())]
    Head {
        /// Path of the journal.
        path: PathBuf,
        /// Error of the parser.
        reason: String,
    },
    /// The journal has another format.
    #[error("cannot read {path}: it was written by tare {version} in journal format {format}, and this version reads format {FORMAT}: use tare {version} or a later one", path = path.display())]
    Format {
        /// Path of the journal.
        path: PathBuf,
        /// Version of the format.
        format: u32,
        /// Version of tare that wrote it.
        version: String,
    },
    /// No study gives such a plan.
    #[error("cannot use {path}: {source}: the file is damaged, or not written by tare", path = path.display())]
    Plan {
        /// Path of the journal.
        path: PathBuf,
        /// Value that no plan has.
        source: InvalidPlan,
    },
}

impl Error {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Read { path: path.to_owned(), source }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.to_owned(), source }
    }
}
