//! `cargo xtask messages`: every sentence that the program may say to a user, from the sources into
//! `tests/messages.txt`.
//!
//! Errors, remedies and findings are written where they arise. The file puts them together, so that they can be read as
//! one text, and so that a change of one is seen in a review. A unit test compares it with the sources.

mod collector;

use crate::TaskResult;
use crate::repository::Repository;
use crate::sources;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// File of all messages.
const FILE: &str = "tests/messages.txt";

/// First lines of the file.
const HEAD: &str = "\
# Every sentence that tare may say of an error, a remedy or a finding, as its source has it: values stand in braces.
# Made by `cargo xtask messages`. A message says what failed, why, and what to do.
";

/// Writes the file.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let text = text(repository)?;
    fs::write(repository.path(FILE), &text).with_context(|| format!("cannot write {FILE}"))?;
    println!("{FILE}: {} lines", text.lines().count());
    Ok(TaskResult::Passed)
}

/// Content of the file, from the sources: each file with its messages, in their order.
fn text(repository: &Repository) -> Result<String> {
    let mut text = HEAD.to_owned();
    for package in sources::crates(repository)? {
        for path in sources::rust_files(&package.join("src"))? {
            append(&mut text, repository, &path)?;
        }
    }
    Ok(text)
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
    fn the_file_is_as_the_sources_are() {
        let repository = Repository::find().unwrap();
        let kept = fs::read_to_string(repository.path(FILE)).unwrap();
        let now = text(&repository).unwrap();
        for (kept, now) in kept.lines().zip(now.lines()) {
            assert_eq!(kept, now, "{FILE} is not as the sources are: run `cargo xtask messages`");
        }
        assert_eq!(kept.lines().count(), now.lines().count());
    }
}
