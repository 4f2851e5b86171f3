//! The append-only file of every trial, from which all else is derived.
//!
//! One JSON object a line. The first is the [`Record::Run`] with the plan and the environment; then a
//! [`Record::Trial`] for each trial, written through to the disk before the next one starts. A process that is
//! killed can leave at most one torn line, the last; readers leave it out, [`Writer::reopen`] cuts it off.

use crate::{Environment, Failure, Phase, Plan, Sizing, StoppedBy, Trial, Turn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The journal's file name in a run's directory.
pub const FILE: &str = "journal.jsonl";

/// The journal's format; readers refuse another.
pub const FORMAT: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// The first line: what is going to be measured, on what.
    Run(Box<Run>),
    /// How many blocks there will be.
    Sizing(Sizing),
    /// One trial.
    Trial(Box<Trial>),
    /// A network's turn in a block has ended.
    Turn(Turn),
    /// A network broke; it is left out of the rest of the run.
    Failure(Failure),
    /// The run goes on after it was cut off; trials of this phase in this block and later ones, written before this line, are void.
    Resumed(Resumed),
    /// The measuring ended.
    End(End),
}

/// A journal's first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The journal's format.
    pub format: u32,
    /// What is going to be measured.
    pub plan: Plan,
    /// On what.
    pub environment: Environment,
    /// What was noticed before the run.
    pub findings: Vec<crate::Finding>,
}

/// Where a run that was cut off goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// The phase of the first block that is run again.
    pub phase: crate::Phase,
    /// That block.
    pub block: u32,
    /// When, RFC 3339, UTC.
    pub time: String,
}

/// The last line of a journal that was finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// What ended the measuring.
    pub stopped_by: StoppedBy,
}

/// What goes wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{path}: {source}: name the directory of a run", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be made or written.
    #[error("{path}: {source}: choose a directory that is writable and has room by --out", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is a journal already.
    #[error("{path} holds a run already: choose another --out, or go on with it by `tare resume`", path = path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A line that is not the last one cannot be read.
    #[error("{path}, line {line}: not a journal record: {reason}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// The first line is no [`Record::Run`] of this format.
    #[error("{path} does not begin with a run record of format {FORMAT}: it is no journal of this version", path = path.display())]
    Head {
        /// The file.
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

/// A journal, read whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// The first line.
    pub run: Run,
    /// All other whole lines, in order.
    pub records: Vec<Record>,
}

impl Journal {
    /// Reads the journal in a run's directory; a torn last line is left out.
    ///
    /// # Errors
    /// When there is no journal, or a line other than the last cannot be read.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let file = File::open(&path).map_err(Error::read(&path))?;
        Self::parse(BufReader::new(file), &path)
    }

    /// Reads a journal from anything; `path` is for messages.
    ///
    /// # Errors
    /// As [`Journal::read`].
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

    /// The trials that count: those of blocks begun again after a cut-off are left out.
    #[must_use]
    pub fn trials(&self) -> Vec<&Trial> {
        self.valid(|record| match record {
            Record::Trial(trial) => Some((trial.phase, trial.block, trial.as_ref())),
            _ => None,
        })
    }

    /// The networks' turns that count, as with trials.
    #[must_use]
    pub fn turns(&self) -> Vec<&Turn> {
        self.valid(|record| match record {
            Record::Turn(turn) => Some((turn.phase, turn.block, turn)),
            _ => None,
        })
    }

    /// What is kept of each block, without that of blocks begun again after a cut-off.
    fn valid<'a, T>(
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

    /// The failures, in order.
    #[must_use]
    pub fn failures(&self) -> Vec<&Failure> {
        self.records
            .iter()
            .filter_map(|record| match record {
                Record::Failure(failure) => Some(failure),
                _ => None,
            })
            .collect()
    }

    /// The number of blocks decided on, once it was.
    #[must_use]
    pub fn sizing(&self) -> Option<&Sizing> {
        self.records.iter().rev().find_map(|record| match record {
            Record::Sizing(sizing) => Some(sizing),
            _ => None,
        })
    }

    /// What ended the measuring, unless the run was cut off or goes on.
    #[must_use]
    pub fn stopped_by(&self) -> Option<StoppedBy> {
        match self.records.last() {
            Some(Record::End(end)) => Some(end.stopped_by),
            _ => None,
        }
    }
}

/// Where a runner keeps its records.
pub trait Sink {
    /// Keeps one record for good before it returns.
    ///
    /// # Errors
    /// When it cannot.
    fn append(&mut self, record: &Record) -> Result<(), Error>;
}

/// A sink in memory, for tests and simulations.
impl Sink for Vec<Record> {
    fn append(&mut self, record: &Record) -> Result<(), Error> {
        self.push(record.clone());
        Ok(())
    }
}

/// The journal's writer.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Makes the directory, where it is missing, and a new journal in it.
    ///
    /// # Errors
    /// When there is a journal already, or it cannot be made.
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

    /// Opens a journal to go on with it; a torn last line is cut off.
    ///
    /// # Errors
    /// When there is none, or it cannot be written.
    pub fn reopen(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let whole = whole_lines(&path).map_err(Error::read(&path))?;
        let mut file = OpenOptions::new().write(true).open(&path).map_err(Error::write(&path))?;
        file.set_len(whole)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(Error::write(&path))?;
        Ok(Self { file, path })
    }

    /// The journal's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The length of a file up to its last line end, bytes.
fn whole_lines(path: &Path) -> io::Result<u64> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1))
}

impl Sink for Writer {
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
    use crate::{Blocks, FamilyScope};
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
            family: FamilyScope::Metric,
            blocks: Blocks::Fixed { blocks: 1 },
            budget: None,
            skipped: Vec::new(),
            refused: Vec::new(),
            ablations: Vec::new(),
            parts: Vec::new(),
            findings: Vec::new(),
            publication: None,
        };
        let environment = Environment::default();
        Record::Run(Box::new(Run { format: FORMAT, plan, environment, findings: Vec::new() }))
    }

    fn resumed(block: u32) -> Record {
        Record::Resumed(Resumed { phase: Phase::Main, block, time: "now".into() })
    }

    #[test]
    fn what_is_written_is_read_and_a_second_run_does_not_overwrite_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(directory.path()).unwrap();
        for record in [run(), resumed(1), resumed(2)] {
            writer.append(&record).unwrap();
        }
        let journal = Journal::read(directory.path()).unwrap();
        assert_eq!(journal.records, [resumed(1), resumed(2)]);
        assert!(matches!(Writer::create(directory.path()), Err(Error::Exists { .. })));
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(directory.path()).unwrap();
        writer.append(&run()).unwrap();
        writer.append(&resumed(1)).unwrap();
        writer.file.write_all(b"{\"record\":\"tri").unwrap();
        assert_eq!(Journal::read(directory.path()).unwrap().records, [resumed(1)]);

        let mut writer = Writer::reopen(directory.path()).unwrap();
        writer.append(&resumed(2)).unwrap();
        assert_eq!(Journal::read(directory.path()).unwrap().records, [resumed(1), resumed(2)]);
    }

    #[test]
    fn a_broken_line_within_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(directory.path()).unwrap();
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
