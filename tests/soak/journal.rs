//! A journal of ten thousand trials is reported within 200 MB, and its figures are those of the trials that it repeats.

use serde_json::Value;
use std::process::Command;
use support::program::{Tare, User};
use support::{ScratchDirectory, list, text};

/// Memory that a report may take beyond the program's own, bytes (RLIMIT_DATA).
const MEMORY: &str = "200000000";
/// Blocks of the run, and how often the journal has them: 6 trials each.
const BLOCKS: usize = 4;
const REPETITIONS: usize = 417;

/// Returns the lines of a journal with its blocks so many times, each time as further blocks.
fn repeated(journal: &str, times: usize) -> String {
    let number = |line: &str| {
        let record: Value = serde_json::from_str(line).expect("a record");
        record["block"].as_u64()
    };
    let lines: Vec<&str> = journal.lines().collect();
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    let blocks = lines[1..lines.len() - 1].iter();
    let blocks: Vec<(u64, &str)> =
        blocks.map(|line| (number(line).expect("a line of a block"), *line)).collect();
    let mut all = vec![first.to_owned()];
    for time in 0..times {
        all.extend(blocks.iter().map(|(block, line)| {
            let now = block + (time * BLOCKS) as u64;
            line.replacen(&format!("\"block\":{block},"), &format!("\"block\":{now},"), 1)
        }));
    }
    all.push(last.to_owned());
    all.join("\n") + "\n"
}

/// Returns the figure of every cell with its number of samples, by label, workload and metric.
fn means(document: &Value) -> Vec<(String, f64, u64)> {
    let cells = list(document, "cells").iter();
    let cells = cells.filter_map(|cell| {
        let name = ["label", "workload", "metric"].map(|key| text(cell, key)).join(" ");
        Some((name, cell["mean"].as_f64()?, cell["n"].as_u64()?))
    });
    cells.collect()
}

#[test]
#[ignore = "takes half a minute: make soak"]
fn ten_thousand_trials_are_reported_within_200_mb() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::copied(&scratch, User::Ordinary);
    let what = ["run", "--network", "host,bridge,published", "--workload", "tcp-rr,tcp-stream"];
    let how = ["--blocks", "4", "--duration", "300ms", "--slice", "off", "--out", "out", "--json"];
    let measured = tare.run(&[&what[..], &how].concat()).expect(0).json();
    let journal = tare.directory().join("out/journal.jsonl");
    let journal = std::fs::read_to_string(journal).expect("a journal");
    let large = tare.directory().join("large");
    std::fs::create_dir(&large).expect("a directory in it");
    std::fs::write(large.join("journal.jsonl"), repeated(&journal, REPETITIONS)).expect("a file");
    let reported = Command::new("prlimit")
        .arg(format!("--data={MEMORY}"))
        .arg(tare.program())
        .args(["report", "--json"])
        .arg(&large)
        .output()
        .expect("prlimit is there");
    let said = String::from_utf8_lossy(&reported.stderr);
    assert!(reported.status.success(), "{said}");
    let document: Value = serde_json::from_slice(&reported.stdout).expect("a document");
    let (once, often) = (means(&measured), means(&document));
    assert!(once.len() > 10, "{measured}");
    for (figure, mean, samples) in once {
        let again = often.iter().find(|(other, ..)| *other == figure);
        let (_, again, count) = again.unwrap_or_else(|| panic!("{figure} is missing"));
        assert_eq!(*count, samples * REPETITIONS as u64, "{figure}");
        assert!((again - mean).abs() <= 1e-9 * mean.abs(), "{figure}: {again} for {mean}");
    }
}
