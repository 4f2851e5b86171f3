//! Files that `cargo xtask dist` wrote.

use std::path::{Path, PathBuf};
use std::process::Command;
use support::schema::repository;

/// Directory of the packages.
pub(crate) fn directory() -> PathBuf {
    repository().join("target/dist")
}

/// Returns the package whose name begins and ends with these words.
#[track_caller]
pub(crate) fn package(start: &str, end: &str) -> PathBuf {
    let entries = std::fs::read_dir(directory());
    let entries = entries.expect("packages are there: cargo xtask test-system --only packages");
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut found: Vec<String> =
        names.filter(|name| name.starts_with(start) && name.ends_with(end)).collect();
    assert_eq!(found.len(), 1, "one file {start}…{end} is in target/dist: {found:?}");
    directory().join(found.remove(0))
}

/// Returns the output of a command that succeeds.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Checks that a run printed its table: a row for each network, with a figure.
#[track_caller]
pub(crate) fn check_table(printed: &str) {
    for network in ["host", "bridge"] {
        let is_row = |line: &str| {
            let mut words = line.split_whitespace();
            words.next() == Some(network) && words.next().is_some_and(starts_with_digit)
        };
        assert!(printed.lines().any(is_row), "no row of {network}:\n{printed}");
    }
    assert!(printed.contains("tcp-rr"), "{printed}");
}

fn starts_with_digit(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

/// Unpacks an archive and returns the directory that it has.
pub(crate) fn unpack(archive: &Path, directory: &Path) -> PathBuf {
    output(
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(archive)
            .arg("--directory")
            .arg(directory),
    );
    let name = archive.file_name().and_then(|name| name.to_str()).expect("an ASCII name");
    directory.join(name.trim_end_matches(".tar.gz"))
}

#[test]
fn the_checksums_are_those_of_all_files() {
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(directory());
    let checked = output(&mut check).lines().count();
    let files = std::fs::read_dir(directory()).expect("it is there").count();
    assert_eq!(checked + 1, files, "every file but SHA256SUMS");
}
