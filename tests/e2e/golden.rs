//! Tests with journals of an earlier version: they are readable, and give exactly the documents that they gave then.

use std::path::{Path, PathBuf};
use support::program::Tare;

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
