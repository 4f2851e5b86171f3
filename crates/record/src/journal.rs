//! Append-only journal of a run, from which all results are derived.
//!
//! The journal holds one JSON object per line. The first line is the [`Record::Run`] with the plan and the environment;
//! a [`Record::Trial`] follows for each trial, and is synced to disk before the next trial starts. A process that is
//! killed can leave at most one torn line, the last one: readers skip it, and [`LockedJournal::into_writer`] truncates
//! it. A line that was damaged later costs what it held, and is named by a finding.

mod error;
mod journal_file;
mod line;
mod parsed_journal;
mod record;

pub use error::Error;
pub use journal_file::{JournalWriter, LockedJournal, RecordSink};
pub use parsed_journal::Journal;
pub use record::{FILE, FORMAT, Record, ResumePoint, RunEnd, RunHeader};

#[cfg(test)]
mod tests;
