//! `cargo xtask messages`: every sentence that the program may say to a user, from the sources into
//! `tests/messages.txt`, and every word into the vocabulary of redacted archives.
//!
//! Errors, remedies and findings are written where they arise. The file puts them together, so that they can be read as
//! one text, and so that a change of one is seen in a review. `make check` compares both with the sources (`--check`).

mod collector;
mod vocabulary;

use crate::TaskResult;
use crate::directory;
use crate::repository::Repository;
use crate::sources;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// File of all messages.
const FILE: &str = "tests/messages.txt";

/// First lines of the file.
const HEAD: &str = "\
# Every sentence that tare may say of an error, a remedy or a finding, as its source has it: values stand in braces.
# Made by `cargo xtask messages`. A message says what failed, why, and what to do.
";

/// File of all words.
const VOCABULARY: &str = "crates/report/src/bundle/redact/vocabulary.txt";

/// Packages and files of which nothing is in the program.
const OF_TESTS: [&str; 3] = ["dev", "tests.rs", "test_data.rs"];

/// Writes the files, or compares them with the sources where the argument is `--check`.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let files = [(FILE, text(repository)?), (VOCABULARY, vocabulary(repository)?)];
    match arguments {
        [] => write_files(repository, &files),
        [only] if only == "--check" => compare_files(repository, &files),
        _ => bail!("usage: cargo xtask messages [--check]"),
    }
}

fn write_files(repository: &Repository, files: &[(&str, String)]) -> Result<TaskResult> {
    for (file, text) in files {
        fs::write(repository.path(file), text).with_context(|| format!("cannot write {file}"))?;
        println!("{file}: {} lines", text.lines().count());
    }
    Ok(TaskResult::Passed)
}

fn compare_files(repository: &Repository, files: &[(&str, String)]) -> Result<TaskResult> {
    let mut result = TaskResult::Passed;
    for (file, text) in files {
        let kept = sources::read(&repository.path(file))?;
        if let Some(line) = first_difference(&kept, text) {
            eprintln!("{file}:{line}: not as the sources are: run `cargo xtask messages`");
            result = TaskResult::Failed;
        }
    }
    Ok(result)
}

/// Returns the number of the first line, from 1, in which two texts differ.
fn first_difference(kept: &str, now: &str) -> Option<usize> {
    let (mut kept, mut now) = (kept.lines(), now.lines());
    (1..).find_map(|number| match (kept.next(), now.next()) {
        (None, None) => Some(None),
        (kept, now) => (kept != now).then_some(Some(number)),
    })?
}

/// Content of the vocabulary: the words of all sources, built-in studies and schemas, one a line, in order.
fn vocabulary(repository: &Repository) -> Result<String> {
    let mut words = BTreeSet::new();
    for path in program_files(repository)? {
        vocabulary::add_source(&mut words, &sources::read(&path)?)
            .with_context(|| format!("cannot parse {}", path.display()))?;
    }
    for folder in ["studies", "studies/answers", "docs/schema"] {
        let paths = directory::entries(&repository.path(folder))?;
        for path in paths.iter().filter(|path| path.is_file()) {
            vocabulary::add_text(&mut words, &sources::read(path)?);
        }
    }
    Ok(words.into_iter().map(|word| word + "\n").collect())
}

/// Content of the file, from the sources: each file with its messages, in their order.
fn text(repository: &Repository) -> Result<String> {
    let mut text = HEAD.to_owned();
    for path in program_files(repository)? {
        append(&mut text, repository, &path)?;
    }
    Ok(text)
}

/// Returns the sources of all packages of which anything is in the program.
fn program_files(repository: &Repository) -> Result<Vec<PathBuf>> {
    let is_of_tests = |path: &Path| OF_TESTS.iter().any(|name| path.ends_with(name));
    let mut files = Vec::new();
    for package in sources::crates(repository)?.into_iter().filter(|one| !is_of_tests(one)) {
        let of_package = sources::rust_files(&package.join("src"))?;
        files.extend(of_package.into_iter().filter(|path| !is_of_tests(path)));
    }
    Ok(files)
}

/// Appends the messages of one file, below its path.
fn append(text: &mut String, repository: &Repository, path: &Path) -> Result<()> {
    let messages = collector::messages(&sources::read(path)?)
        .with_context(|| format!("cannot parse {}", path.display()))?;
    if messages.is_empty() {
        return Ok(());
    }
    let path = path.strip_prefix(repository.root()).unwrap_or(path);
    writeln!(text, "\n{}", path.display())?;
    for message in messages {
        writeln!(text, "  {}", message.replace('\n', "\\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_as_the_sources_are() {
        let result = run(&Repository::find().unwrap(), &["--check".to_owned()]);
        assert_eq!(result.unwrap(), TaskResult::Passed);
    }

    #[test]
    fn a_line_that_differs_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a\nb\n", ""), Some(1));
    }
}
