//! Append-only journal of a run, from which all results are derived.
//!
//! The journal holds one JSON object per line. The first line is the [`Record::Run`] with the plan and the environment;
//! a [`Record::Trial`] follows for each trial, and is synced to disk before the next trial starts. A process that is
//! killed can leave at most one torn line, the last one: readers skip it, and [`JournalWriter::reopen`] truncates it.

use crate::{
    Environment, InterimAnalysis, NetworkFailure, NetworkTurn, Phase, Plan, Sizing, StoppedBy,
    Trial,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// File name of the journal in a run's directory.
pub const FILE: &str = "journal.jsonl";

/// Version of the journal format. Readers reject any other version.
pub const FORMAT: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// First line: the plan and the machine.
    Run(Box<RunHeader>),
    /// Number of blocks of the main phase.
    Sizing(Sizing),
    /// One trial.
    Trial(Box<Trial>),
    /// End of a network's turn in a block.
    Turn(NetworkTurn),
    /// Planned analysis before the end of the run.
    InterimAnalysis(InterimAnalysis),
    /// Failure of a network; it is left out of the rest of the run.
    Failure(NetworkFailure),
    /// Continuation of a run that was cut off. Trials of this phase in this block and later ones that were written
    /// before this line are void.
    Resumed(ResumePoint),
    /// End of the measurement.
    End(RunEnd),
}

/// First line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// Version of the journal format.
    pub format: u32,
    /// Plan of the run.
    pub plan: Plan,
    /// Machine on which the run is measured.
    pub environment: Environment,
    /// Findings from before the first trial.
    pub findings: Vec<crate::Finding>,
}

/// Point at which a run that was cut off continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumePoint {
    /// Phase of the first block that is run again.
    pub phase: crate::Phase,
    /// Number of the first block that is run again.
    pub block: u32,
    /// Time of the continuation, RFC 3339, UTC.
    pub time: String,
}

/// Last line of a journal of a finished run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// Condition that ended the measurement.
    pub stopped_by: StoppedBy,
}

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
    /// A line other than the last one cannot be parsed.
    #[error("{path}, line {line}: invalid journal record: {reason}", path = path.display())]
    Line {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Error of the parser.
        reason: String,
    },
    /// The first line is not a [`Record::Run`] of this format.
    #[error("{path} is not a journal of this version of tare: the first line is not a run record of format {FORMAT}: use the version that wrote the file", path = path.display())]
    Head {
        /// Path of the journal.
        path: PathBuf,
    },
}

impl Error {
    fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Read { path: path.to_owned(), source }
    }

    fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.to_owned(), source }
    }
}

/// Journal in memory, with all its whole lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// First line.
    pub run: RunHeader,
    /// All other whole lines, in order.
    pub records: Vec<Record>,
}

impl Journal {
    /// Reads the journal in a run's directory. A torn last line is left out.
    ///
    /// # Errors
    /// Fails if the directory holds no journal, or if a line other than the last one cannot be parsed.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let file = File::open(&path).map_err(Error::read(&path))?;
        Self::parse(BufReader::new(file), &path)
    }

    /// Parses a journal from a reader; `path` is used in error messages.
    ///
    /// # Errors
    /// Fails as [`Journal::read`] does.
    pub fn parse(mut reader: impl BufRead, path: &Path) -> Result<Self, Error> {
        let mut records = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(Error::read(path))?;
            if line.pop() != Some(b'\n') {
                break;
            }
            records.push(serde_json::from_slice(&line).map_err(|error| Error::Line {
                path: path.to_owned(),
                line: number,
                reason: error.to_string(),
            })?);
        }
        let mut records = records.into_iter();
        match records.next() {
            Some(Record::Run(run)) if run.format == FORMAT => {
                Ok(Self { run: *run, records: records.collect() })
            }
            _ => Err(Error::Head { path: path.to_owned() }),
        }
    }

    /// Returns the valid trials: those of blocks that were started again after a cut-off are left out.
    #[must_use]
    pub fn trials(&self) -> Vec<&Trial> {
        self.valid_records(|record| match record {
            Record::Trial(trial) => Some((trial.phase, trial.block, trial.as_ref())),
            _ => None,
        })
    }

    /// Returns the valid turns of networks, by the rule of [`Journal::trials`].
    #[must_use]
    pub fn turns(&self) -> Vec<&NetworkTurn> {
        self.valid_records(|record| match record {
            Record::Turn(turn) => Some((turn.phase, turn.block, turn)),
            _ => None,
        })
    }

    /// Returns the selected records of all blocks, without those of blocks that were started again after a cut-off.
    fn valid_records<'a, T>(
        &'a self,
        kept: impl Fn(&'a Record) -> Option<(Phase, u32, &'a T)>,
    ) -> Vec<&'a T> {
        let mut all: Vec<(Phase, u32, &T)> = Vec::new();
        for record in &self.records {
            if let Record::Resumed(from) = record {
                all.retain(|(phase, block, _)| *phase != from.phase || *block < from.block);
            }
            all.extend(kept(record));
        }
        all.into_iter().map(|(_, _, one)| one).collect()
    }

    /// Returns all failures, in order.
    #[must_use]
    pub fn failures(&self) -> Vec<&NetworkFailure> {
        self.records
            .iter()
            .filter_map(|record| match record {
                Record::Failure(failure) => Some(failure),
                _ => None,
            })
            .collect()
    }

    /// Returns all interim analyses, in order.
    #[must_use]
    pub fn interim_analyses(&self) -> Vec<InterimAnalysis> {
        self.records
            .iter()
            .filter_map(|record| match record {
                Record::InterimAnalysis(analysis) => Some(analysis.clone()),
                _ => None,
            })
            .collect()
    }

    /// Returns the latest decision on the number of blocks, or `None` if there is none yet.
    #[must_use]
    pub fn sizing(&self) -> Option<&Sizing> {
        self.records.iter().rev().find_map(|record| match record {
            Record::Sizing(sizing) => Some(sizing),
            _ => None,
        })
    }

    /// Returns the condition that ended the measurement, or `None` if the run was cut off or is still running.
    #[must_use]
    pub fn stopped_by(&self) -> Option<StoppedBy> {
        match self.records.last() {
            Some(Record::End(end)) => Some(end.stopped_by),
            _ => None,
        }
    }
}

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

/// Writer of a journal file.
#[derive(Debug)]
pub struct JournalWriter {
    file: File,
    path: PathBuf,
}

impl JournalWriter {
    /// Creates a new journal in a directory, and the directory if it is missing.
    ///
    /// # Errors
    /// Fails if the directory already holds a journal, or if the journal cannot be created.
    pub fn create(directory: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(directory).map_err(Error::write(directory))?;
        let path = directory.join(FILE);
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Exists { path: directory.to_owned() })
            }
            Err(error) => Err(Error::write(&path)(error)),
        }
    }

    /// Opens an existing journal for appending, and truncates a torn last line.
    ///
    /// # Errors
    /// Fails if there is no journal, or if it cannot be written.
    pub fn reopen(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let whole = whole_lines(&path).map_err(Error::read(&path))?;
        let mut file = OpenOptions::new().write(true).open(&path).map_err(Error::write(&path))?;
        file.set_len(whole)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(Error::write(&path))?;
        Ok(Self { file, path })
    }

    /// Returns the path of the journal file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the length of a file up to its last newline, bytes.
fn whole_lines(path: &Path) -> io::Result<u64> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1))
}

impl RecordSink for JournalWriter {
    fn append(&mut self, record: &Record) -> Result<(), Error> {
        let write = |file: &mut File| -> io::Result<()> {
            let mut line = serde_json::to_vec(record)?;
            line.push(b'\n');
            file.write_all(&line)?;
            file.sync_data()
        };
        write(&mut self.file).map_err(Error::write(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockPolicy, CorrectionFamily};
    use proptest::prelude::*;

    fn run() -> Record {
        let plan = Plan {
            study: "test".into(),
            seed: 1,
            networks: Vec::new(),
            stands_for: Default::default(),
            baseline: "host".into(),
            workloads: Vec::new(),
            raising: Vec::new(),
            shapes: Vec::new(),
            margins: Default::default(),
            family: CorrectionFamily::Metric,
            blocks: BlockPolicy::Fixed { blocks: 1 },
            budget: None,
            skipped: Vec::new(),
            refused: Vec::new(),
            ablations: Vec::new(),
            parts: Vec::new(),
            findings: Vec::new(),
            publication: None,
        };
        let environment = Environment::default();
        Record::Run(Box::new(RunHeader { format: FORMAT, plan, environment, findings: Vec::new() }))
    }

    fn resumed(block: u32) -> Record {
        Record::Resumed(ResumePoint { phase: Phase::Main, block, time: "now".into() })
    }

    #[test]
    fn what_is_written_is_read_and_a_second_run_does_not_overwrite_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(directory.path()).unwrap();
        for record in [run(), resumed(1), resumed(2)] {
            writer.append(&record).unwrap();
        }
        let journal = Journal::read(directory.path()).unwrap();
        assert_eq!(journal.records, [resumed(1), resumed(2)]);
        assert!(matches!(JournalWriter::create(directory.path()), Err(Error::Exists { .. })));
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(directory.path()).unwrap();
        writer.append(&run()).unwrap();
        writer.append(&resumed(1)).unwrap();
        writer.file.write_all(b"{\"record\":\"tri").unwrap();
        assert_eq!(Journal::read(directory.path()).unwrap().records, [resumed(1)]);

        let mut writer = JournalWriter::reopen(directory.path()).unwrap();
        writer.append(&resumed(2)).unwrap();
        assert_eq!(Journal::read(directory.path()).unwrap().records, [resumed(1), resumed(2)]);
    }

    #[test]
    fn a_broken_line_within_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(directory.path()).unwrap();
        writer.append(&run()).unwrap();
        writer.file.write_all(b"nonsense\n").unwrap();
        writer.append(&resumed(1)).unwrap();
        let error = Journal::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_journal_is_refused() {
        for text in ["", "{}\n", "\n"] {
            assert!(Journal::parse(text.as_bytes(), Path::new("x")).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_journal_cut_at_any_byte_reads_up_to_its_last_whole_line(cut in 0usize..4000) {
            let mut bytes = Vec::new();
            for record in [run(), resumed(1), resumed(2)] {
                serde_json::to_writer(&mut bytes, &record).unwrap();
                bytes.push(b'\n');
            }
            let cut = cut.min(bytes.len());
            let lines = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
            match Journal::parse(&bytes[..cut], Path::new("x")) {
                Ok(journal) => prop_assert_eq!(journal.records.len() + 1, lines),
                Err(error) => prop_assert!(lines == 0, "{}", error),
            }
        }
    }
}
