//! Tests with journals of an earlier version: they are readable, and give exactly the documents that they gave then.

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::program::Tare;
use support::{ScratchDirectory, list};

/// Returns the directory of the journals and of the documents made from them.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Returns the names of the runs.
fn runs() -> Vec<String> {
    let entries = std::fs::read_dir(golden()).expect("the journals are in the sources").flatten();
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        directories.map(|entry| entry.file_name().into_string().expect("ASCII")).collect();
    names.sort_unstable();
    names
}

/// Fails at the first different line: two whole documents of a thousand lines would be unreadable.
#[track_caller]
fn assert_document(said: &str, file: &Path) {
    let kept = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    for (number, (now, then)) in said.lines().zip(kept.lines()).enumerate() {
        assert_eq!(now, then, "{}:{}", file.display(), number + 1);
    }
    assert!(said == kept, "{}: one is the beginning of the other", file.display());
}

#[test]
fn reports_are_what_they_were() {
    let tare = Tare::in_directory(&golden());
    let runs = runs();
    assert!(runs.len() >= 18, "{runs:?}");
    for run in runs {
        let said = tare.run(&["report", &run, "--json"]).expect(0).text();
        assert_document(&said, &golden().join(run).join("result.json"));
    }
}

#[test]
fn a_comparison_is_what_it_was() {
    let tare = Tare::in_directory(&golden());
    let said = tare.run(&["compare", "wider", "narrower", "--json"]).expect(0).text();
    assert_document(&said, &golden().join("compare.json"));
}

/// Journals of which every line is damaged once: with a failure, with several networks, with nodes.
const DAMAGED: [&str; 3] = ["failed", "margins", "overlays"];

#[test]
fn a_damaged_line_costs_what_it_held() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    scratch.create_directory("run", None);
    for run in DAMAGED {
        let journal = std::fs::read_to_string(golden().join(run).join("journal.jsonl"));
        let journal = journal.expect("it is in the sources");
        let lines: Vec<&str> = journal.lines().collect();
        for damaged in 0..lines.len() {
            let mut text = lines.clone();
            // Half of a line, as a disk or a transfer leaves it.
            text[damaged] = &text[damaged][..text[damaged].len() / 2];
            scratch.write_file("run/journal.jsonl", &(text.join("\n") + "\n"));
            let said = tare.run(&["report", "run", "--json"]);
            if damaged == 0 {
                said.assert_error(2, &["run/journal.jsonl", "is not a journal of tare"]);
                continue;
            }
            let document = said.expect(0).json();
            let unread = |one: &&Value| one["kind"] == "unread-lines";
            let told: Vec<&Value> = list(&document, "findings").iter().filter(unread).collect();
            assert_eq!(told.len(), 1, "{run}, line {}", damaged + 1);
            assert_eq!(told[0]["lines"], serde_json::json!([damaged + 1]), "{run}");
        }
    }
}
