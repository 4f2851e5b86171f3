//! Journal in memory, read from a file that may be damaged.

use super::error::Error;
use super::line::{parse_header_record, parse_record};
use super::record::{FILE, FORMAT, Record, RunHeader};
use crate::finding::UnreadLines;
use crate::{
    BlockPolicy, Finding, InterimAnalysis, NetworkFailure, NetworkTurn, Phase, Sizing, StoppedBy,
    Trial,
};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Mark with which some editors begin a file (Unicode, 23.8).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Journal in memory, with all its lines that can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// First line. Its findings name the lines that cannot be read.
    pub run: RunHeader,
    /// All other lines, in order.
    pub records: Vec<Record>,
}

/// Format and writer that the first line states, whatever the format.
#[derive(Deserialize)]
struct FormatHeader {
    format: u32,
    environment: FormatWriter,
}

/// Program that wrote a journal.
#[derive(Deserialize)]
struct FormatWriter {
    tare: String,
}

impl Journal {
    /// Reads the journal in a run's directory. A torn last line is left out; other lines that cannot be read are left
    /// out too, and named by a [`Finding::UnreadLines`].
    ///
    /// # Errors
    /// Fails if the directory holds no journal, or if its first line is not the plan of a run.
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
        let (mut run, mut records) = (None, Vec::new());
        let (mut unread, mut first_reason) = (Vec::new(), None);
        let mut line = Vec::new();
        for number in 1u64.. {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(Error::read(path))?;
            if line.pop() != Some(b'\n') {
                break;
            }
            let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).trim_ascii();
            if text.is_empty() {
                continue;
            }
            if run.is_none() {
                run = Some(parse_header(text, path)?);
                continue;
            }
            match parse_record(without_nul(text)) {
                Ok(record) => records.push(record),
                Err(error) => {
                    unread.push(number);
                    first_reason.get_or_insert_with(|| describe_error(&error));
                }
            }
        }
        let mut run = run.ok_or_else(|| not_a_journal(path, "there is no line"))?;
        if let Some(reason) = first_reason {
            run.findings.push(Finding::UnreadLines(UnreadLines { lines: unread, reason }));
        }
        Ok(Self { run, records })
    }

    /// Returns the valid trials: those of blocks that were started again after a cut-off are left out.
    #[must_use]
    pub fn trials(&self) -> Vec<&Trial> {
        let is_same = |one: &Trial, other: &Trial| {
            (&one.label, &one.workload, &one.shape, &one.parameters)
                == (&other.label, &other.workload, &other.shape, &other.parameters)
        };
        self.valid_records(is_same, |record| match record {
            Record::Trial(trial) => Some((trial.phase, trial.block, trial.as_ref())),
            _ => None,
        })
    }

    /// Returns the valid turns of networks, by the rule of [`Journal::trials`].
    #[must_use]
    pub fn turns(&self) -> Vec<&NetworkTurn> {
        let is_same = |one: &NetworkTurn, other: &NetworkTurn| {
            (&one.label, &one.shape) == (&other.label, &other.shape)
        };
        self.valid_records(is_same, |record| match record {
            Record::Turn(turn) => Some((turn.phase, turn.block, turn)),
            _ => None,
        })
    }

    /// Returns the selected records of all blocks, without those of blocks that were started again after a cut-off. If
    /// lines are unread, one of them may be that of the cut-off: then a record that a block already has says so.
    fn valid_records<'a, T>(
        &'a self,
        is_same: impl Fn(&T, &T) -> bool,
        kept: impl Fn(&'a Record) -> Option<(Phase, u32, &'a T)>,
    ) -> Vec<&'a T> {
        let is_damaged = self.run.findings.iter().any(|one| matches!(one, Finding::UnreadLines(_)));
        let mut all: Vec<(Phase, u32, &T)> = Vec::new();
        for record in &self.records {
            if let Record::Resumed(from) = record {
                remove_from(&mut all, from.phase, from.block);
            }
            let Some((phase, block, one)) = kept(record) else { continue };
            // Those of its block so far are the last ones.
            let mut of_block = all.iter().rev().take_while(|&&(p, b, _)| (p, b) == (phase, block));
            if is_damaged && of_block.any(|&(_, _, other)| is_same(one, other)) {
                remove_from(&mut all, phase, block);
            }
            all.push((phase, block, one));
        }
        all.into_iter().map(|(_, _, one)| one).collect()
    }

    /// Returns the failures in blocks that were not started again, in order.
    #[must_use]
    pub fn failures(&self) -> Vec<&NetworkFailure> {
        self.valid_records(
            |_, _| false,
            |record| match record {
                Record::Failure(failure) => Some((failure.phase(), failure.first_block(), failure)),
                _ => None,
            },
        )
    }

    /// Returns the interim analyses of blocks that were not started again, in order.
    #[must_use]
    pub fn interim_analyses(&self) -> Vec<InterimAnalysis> {
        let analyses = self.valid_records(
            |_, _| false,
            |record| match record {
                Record::InterimAnalysis(one) => {
                    Some((Phase::Main, one.blocks.saturating_sub(1), one))
                }
                _ => None,
            },
        );
        analyses.into_iter().cloned().collect()
    }

    /// Returns the latest decision on the number of blocks. Returns `None` if there is none yet, or if the blocks that
    /// determined it were started again.
    #[must_use]
    pub fn sizing(&self) -> Option<&Sizing> {
        let (phase, last_block) = match self.run.plan.blocks {
            BlockPolicy::GroupSequential { pilot, .. } => (Phase::Main, pilot.saturating_sub(1)),
            _ => (Phase::Pilot, u32::MAX),
        };
        let decisions = self.valid_records(
            |_, _| false,
            |record| match record {
                Record::Sizing(sizing) => Some((phase, last_block, sizing)),
                _ => None,
            },
        );
        decisions.last().copied()
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

/// Removes the records from a block of a phase on, those of later phases among them.
fn remove_from<T>(all: &mut Vec<(Phase, u32, T)>, phase: Phase, block: u32) {
    all.retain(|(of_phase, of_block, _)| (*of_phase, *of_block) < (phase, block));
}

/// Parses the first line: the plan, which no study gives unless [`Plan::validate`](crate::Plan::validate) says so.
fn parse_header(text: &[u8], path: &Path) -> Result<RunHeader, Error> {
    if let Ok(FormatHeader { format, environment }) = serde_json::from_slice(text)
        && format != FORMAT
    {
        return Err(Error::Format { path: path.to_owned(), format, version: environment.tare });
    }
    match parse_header_record(text) {
        Ok(Record::Run(run)) => {
            let plan = run.plan.validate();
            plan.map_err(|source| Error::Plan { path: path.to_owned(), source })?;
            Ok(*run)
        }
        Ok(_) => Err(not_a_journal(path, "it is a record of another kind")),
        Err(error) => Err(not_a_journal(path, &describe_error(&error))),
    }
}

fn not_a_journal(path: &Path, reason: &str) -> Error {
    Error::Head { path: path.to_owned(), reason: reason.to_owned() }
}

/// Returns a line without the NUL bytes before and after it: a file system that lost power leaves a page of them.
fn without_nul(text: &[u8]) -> &[u8] {
    let from = text.iter().position(|&byte| byte != 0).unwrap_or(text.len());
    let to = text.iter().rposition(|&byte| byte != 0).map_or(from, |at| at + 1);
    &text[from..to]
}

/// Returns the kind of an error and its column, without the words of the line: they may be anything.
fn describe_error(error: &serde_json::Error) -> String {
    let kind = if error.is_data() { "not a record of this format" } else { "invalid JSON" };
    match error.column() {
        0 => kind.to_owned(),
        column => format!("{kind}, column {column}"),
    }
}
