//! Tests of journals: as they are written, damaged, foreign, and read by several processes.

use super::{
    Error, FILE, FORMAT, Journal, JournalWriter, LockedJournal, Record, RecordSink as _,
    ResumePoint, RunEnd,
};
use crate::finding::UnreadLines;
use crate::{
    EndCounts, Finding, HostActivity, InterimAnalysis, NetworkFailure, Phase, Shape, StoppedBy,
    Trial,
};
use proptest::prelude::*;
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

fn run() -> Record {
    let plan = json!({
        "study": "test", "seed": 1, "networks": [], "baseline": "host", "workloads": [],
        "shapes": [], "margins": {}, "family": "metric", "blocks": { "by": "fixed", "blocks": 1 },
        "budget": null, "skipped": [],
    });
    let environment = crate::Environment { tare: "9.8.7".to_owned(), ..Default::default() };
    serde_json::from_value(json!({
        "record": "run", "format": FORMAT, "plan": plan, "environment": environment, "findings": [],
    }))
    .unwrap()
}

fn resumed(block: u32) -> Record {
    serde_json::from_value(json!({
        "record": "resumed", "phase": Phase::Main, "block": block, "time": "now",
    }))
    .unwrap()
}

fn trial(label: &str, block: u32, began: u64) -> Record {
    serde_json::from_value(json!({
        "record": "trial", "block": block, "phase": Phase::Main, "position": 0, "label": label,
        "network": label, "workload": "tcp-rr", "parameters": {}, "shape": Shape::default(),
        "began": began, "took": 1, "series": [], "hops": [], "findings": [],
        "ends": EndCounts::default(), "meanwhile": HostActivity::default(),
    }))
    .unwrap()
}

fn line(record: &Record) -> Vec<u8> {
    let mut line = serde_json::to_vec(record).unwrap();
    line.push(b'\n');
    line
}

fn parse(lines: &[Vec<u8>]) -> Result<Journal, Error> {
    Journal::parse(lines.concat().as_slice(), Path::new("x"))
}

/// Returns the numbers of the unread lines that a journal names.
fn unread(journal: &Journal) -> Vec<u64> {
    match journal.run.findings.as_slice() {
        [] => Vec::new(),
        [Finding::UnreadLines(UnreadLines { lines, .. })] => lines.clone(),
        other => panic!("{other:?}"),
    }
}

fn places(journal: &Journal) -> Vec<(&str, u32, u64)> {
    let place = |trial: &&'_ Trial| (trial.block, trial.began.0);
    let trials = journal.trials();
    let places: Vec<(u32, u64)> = trials.iter().map(place).collect();
    trials
        .iter()
        .map(|trial| trial.label.as_str())
        .zip(places)
        .map(|(l, (b, t))| (l, b, t))
        .collect()
}

fn append_bytes(directory: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(directory.join(FILE)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn every_kind_of_record_is_read_as_serde_reads_it() {
    let mut records = vec![resumed(1), trial("a", 0, 1)];
    records.push(Record::End(RunEnd { stopped_by: StoppedBy::Blocks }));
    let lines: Vec<_> = records.iter().map(line).collect();
    let journal = parse(&[vec![line(&run())], lines.clone()].concat()).unwrap();
    assert_eq!(journal.records, records);
    let read = |line: &Vec<u8>| serde_json::from_slice::<Record>(line).unwrap();
    assert_eq!(lines.iter().map(read).collect::<Vec<_>>(), records);
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
    drop(writer);
    // Longer than the pieces in which the end of the file is searched.
    append_bytes(directory.path(), &[b'{'; 200_000]);
    assert_eq!(Journal::read(directory.path()).unwrap().records, [resumed(1)]);

    let locked = LockedJournal::open(directory.path()).unwrap();
    assert_eq!(locked.read().unwrap().records, [resumed(1)]);
    let mut writer = locked.into_writer().unwrap();
    writer.append(&resumed(2)).unwrap();
    let written = std::fs::read(directory.path().join(FILE)).unwrap();
    assert_eq!(written, [run(), resumed(1), resumed(2)].map(|one| line(&one)).concat());
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(directory.path()).unwrap();
    writer.append(&run()).unwrap();
    let refused = LockedJournal::open(directory.path()).unwrap_err();
    assert!(matches!(refused, Error::InUse { .. }), "{refused}");
    assert_eq!(Journal::read(directory.path()).unwrap().records, []);

    drop(writer);
    let locked = LockedJournal::open(directory.path()).unwrap();
    assert!(matches!(LockedJournal::open(directory.path()), Err(Error::InUse { .. })));
    let writer = locked.into_writer().unwrap();
    assert!(matches!(LockedJournal::open(directory.path()), Err(Error::InUse { .. })));
    drop(writer);
    assert!(LockedJournal::open(directory.path()).is_ok());
}

#[test]
fn a_bad_line_costs_what_it_held_and_is_named() {
    let bad: [&[u8]; 6] = [
        b"nonsense\n",
        &[0; 4096],
        b"{\"record\":\"trial\",\"block\":-1}\n",
        b"{\"record\":\"of another tool\"}\n",
        b"\xff\xfe\x00\n",
        b"[[[[[[[[[[\n",
    ];
    for bad in bad {
        let bad = [bad.strip_suffix(b"\n").unwrap_or(bad), b"\n"].concat();
        let lines = [line(&run()), line(&trial("a", 0, 1)), bad.clone(), line(&trial("b", 0, 2))];
        let journal = parse(&lines).unwrap();
        assert_eq!(places(&journal), [("a", 0, 1), ("b", 0, 2)], "{}", bad.escape_ascii());
        assert_eq!(unread(&journal), [3], "{}", bad.escape_ascii());
        // The words of the line are not told: they may hold anything.
        let told = journal.run.findings[0].to_string();
        assert!(told.contains("line 3: ") && !told.contains("another tool"), "{told}");
    }
}

#[test]
fn marks_and_empty_lines_cost_nothing() {
    let marked = [b"\xef\xbb\xbf".to_vec(), line(&run())].concat();
    let after_nul = [vec![0; 512], line(&resumed(1))].concat();
    let windows = [serde_json::to_vec(&resumed(2)).unwrap(), b"\r\n".to_vec()].concat();
    let journal = parse(&[b"\n".to_vec(), marked, b"\n \n".to_vec(), after_nul, windows]).unwrap();
    assert_eq!(journal.records, [resumed(1), resumed(2)]);
    assert_eq!(unread(&journal), [] as [u64; 0]);
}

#[test]
fn where_the_line_of_a_cut_off_is_lost_the_block_counts_once() {
    let begun = [trial("a", 0, 1), trial("b", 0, 2), trial("a", 1, 3)];
    let again = [trial("b", 1, 5), trial("a", 1, 6)];
    let journal = |between: Vec<u8>| {
        let whole = std::iter::once(run()).chain(begun.clone()).map(|one| line(&one));
        let rest = again.iter().map(line);
        parse(&whole.chain([between]).chain(rest).collect::<Vec<_>>()).unwrap()
    };
    let expected = [("a", 0, 1), ("b", 0, 2), ("b", 1, 5), ("a", 1, 6)];
    assert_eq!(places(&journal(line(&resumed(1)))), expected);
    // Of the block that was begun twice, the trials before the second of a network are void.
    let damaged = journal(b"#\n".to_vec());
    assert_eq!(places(&damaged), [("a", 0, 1), ("b", 0, 2), ("a", 1, 6)]);
    assert_eq!(unread(&damaged), [5]);
}

#[test]
fn a_run_that_is_resumed_and_measures_nothing_keeps_its_journal() {
    let end = |stopped_by| Record::End(RunEnd { stopped_by });
    let (done, interrupted) = (end(StoppedBy::Blocks), end(StoppedBy::Interrupted));
    let trials = [run(), trial("a", 0, 1), trial("a", 1, 2)];
    let again = [resumed(1), trial("a", 1, 3), done.clone()];
    let killed_at_its_end = [resumed(1), done.clone()];
    for (before, records, expected) in [
        // The run was finished, interrupted or killed, and is interrupted again.
        (Some(&done), &[&interrupted][..], &[][..]),
        (Some(&interrupted), &[&interrupted], &[]),
        (None, &[&interrupted], &[]),
        // There was nothing left to measure: what killed it came between the last trial and the end.
        (None, &[&done], &killed_at_its_end),
        (Some(&interrupted), &[&done], &killed_at_its_end),
        (Some(&done), &[&again[1], &done], &again),
        (None, &[&again[1], &done], &again),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(directory.path()).unwrap();
        let before: Vec<Record> = trials.iter().chain(before).cloned().collect();
        before.iter().for_each(|record| writer.append(record).unwrap());
        drop(writer);
        let locked = LockedJournal::open(directory.path()).unwrap();
        let ended_by = locked.read().unwrap().stopped_by();
        let mut writer = locked.into_writer().unwrap();
        let from = ResumePoint { phase: Phase::Main, block: 1, time: "now".to_owned() };
        writer.resume(&from, ended_by).unwrap();
        records.iter().for_each(|record| writer.append(record).unwrap());
        let written = std::fs::read(directory.path().join(FILE)).unwrap();
        let lines: Vec<u8> = before.iter().chain(expected).flat_map(line).collect();
        assert_eq!(written, lines, "{ended_by:?} {records:?}");
    }
}

#[test]
fn what_a_resumed_block_had_is_void_and_so_is_what_came_of_it() {
    let failure = |phase: Phase, block: u32| -> Record {
        let failure = NetworkFailure { block: Some(block), ..NetworkFailure::default() };
        Record::Failure(NetworkFailure { phase: Some(phase), ..failure })
    };
    let analysis = |blocks: u32| {
        Record::InterimAnalysis(InterimAnalysis { blocks, information: 0.5, decided: Vec::new() })
    };
    let sizing: Record = serde_json::from_value(json!({
        "record": "sizing", "blocks": 4, "needed": 4, "block_time": 1, "decided_by": "precision",
        "spreads": {},
    }))
    .unwrap();
    let begun = [
        run(),
        failure(Phase::Pilot, 1),
        sizing,
        trial("a", 0, 1),
        failure(Phase::Main, 1),
        analysis(1),
        analysis(2),
    ];
    let kept = |from: Option<Record>| {
        let lines: Vec<_> = begun.iter().chain(&from).map(line).collect();
        let journal = parse(&lines).unwrap();
        let (failures, analyses) = (journal.failures().len(), journal.interim_analyses().len());
        (journal.trials().len(), failures, analyses, journal.sizing().is_some())
    };
    let pilot = |block: u32| {
        Record::Resumed(ResumePoint { phase: Phase::Pilot, block, time: "now".to_owned() })
    };
    assert_eq!(kept(None), (1, 2, 2, true));
    assert_eq!(kept(Some(resumed(2))), (1, 2, 2, true));
    assert_eq!(kept(Some(resumed(1))), (1, 1, 1, true));
    assert_eq!(kept(Some(resumed(0))), (0, 1, 0, true));
    assert_eq!(kept(Some(pilot(2))), (0, 1, 0, false));
    assert_eq!(kept(Some(pilot(1))), (0, 0, 0, false));
}

#[test]
fn a_file_that_is_no_journal_is_refused() {
    for text in ["", "{}\n", "\n", "{\"record\":\"end\",\"stopped_by\":\"blocks\"}\n"] {
        let refused = Journal::parse(text.as_bytes(), Path::new("x")).unwrap_err();
        assert!(matches!(refused, Error::Head { .. }), "{text:?}: {refused}");
    }
}

#[test]
fn another_format_is_named_with_its_writer() {
    let text = br#"{"record":"run","format":7,"environment":{"tare":"2.0.0"},"new":1}"#;
    let refused = parse(&[text.to_vec(), b"\n".to_vec()]).unwrap_err();
    assert!(matches!(refused, Error::Format { format: 7, .. }), "{refused}");
    assert!(refused.to_string().contains("written by tare 2.0.0"), "{refused}");
}

#[test]
fn a_plan_that_no_study_gives_is_refused() {
    let Record::Run(header) = run() else { panic!("a header") };
    let mut text = serde_json::to_value(Record::Run(header)).unwrap();
    text["plan"]["blocks"] =
        json!({ "by": "precision", "precision": null, "pilot": 3, "at_least": 9, "at_most": 2 });
    let refused = parse(&[text.to_string().into_bytes(), b"\n".to_vec()]).unwrap_err();
    assert!(matches!(refused, Error::Plan { .. }), "{refused}");
}

#[test]
fn a_missing_journal_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(LockedJournal::open(directory.path()), Err(Error::Read { .. })));
    File::create(directory.path().join(FILE)).unwrap();
    let locked = LockedJournal::open(directory.path()).unwrap();
    assert!(matches!(locked.read(), Err(Error::Head { .. })));
}

proptest! {
    #[test]
    fn a_journal_cut_at_any_byte_reads_up_to_its_last_whole_line(cut in 0usize..4000) {
        let bytes = [run(), resumed(1), resumed(2)].map(|record| line(&record)).concat();
        let cut = cut.min(bytes.len());
        let lines = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
        match Journal::parse(&bytes[..cut], Path::new("x")) {
            Ok(journal) => prop_assert_eq!(journal.records.len() + 1, lines),
            Err(error) => prop_assert!(lines == 0, "{}", error),
        }
    }

    #[test]
    fn a_flipped_byte_costs_one_record_at_most(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let records: Vec<Record> = (0..5).map(|block| trial("a", block, 1)).collect();
        let head = line(&run());
        let mut rest = records.iter().map(line).collect::<Vec<_>>().concat();
        let at = at.index(rest.len());
        // A new end of line makes two bad lines of one; one that is lost joins two lines.
        let is_end = rest[at] == b'\n' || byte == b'\n';
        rest[at] = byte;
        let journal = parse(&[head, rest]).unwrap();
        let same = journal.records.iter().filter(|one| records.contains(one)).count();
        prop_assert!(same >= records.len() - if is_end { 2 } else { 1 }, "{same}");
    }
}
