//! `cargo xtask book`: makes a book of the documentation by mdBook, and follows every link in it.
//!
//! mdBook takes all pages from one directory, and copies every other file there. The pages are all over the repository,
//! where other sites show them, so they are copied first: each to its own path below a directory of sources, with the
//! files that it links to. Their links therefore hold as they are.

mod html_links;

use crate::TaskResult;
use crate::links::book_pages::{SUMMARY, linked_files, pages};
use crate::links::markdown::{link_targets, resolve};
use crate::process;
use crate::repository::Repository;
use crate::sources;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Settings of mdBook, and the style sheet that they name.
const SETTINGS: [&str; 2] = ["docs/book.toml", "docs/book.css"];

/// Makes the book in `target/book`. Prints each broken link.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let (copies, book) =
        (repository.target().join("book-source"), repository.target().join("book"));
    for directory in [&copies, &book] {
        remove(directory)?;
    }
    copy_sources(repository, &copies)?;
    let program = repository.find_program("mdbook");
    let program = program.context("mdbook is missing: `make check-tools` installs it")?;
    let mut mdbook = repository.command(program);
    process::run(mdbook.arg("build").arg(&copies).arg("--dest-dir").arg(&book))?;
    let problems = html_links::problems(&book)?;
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("book: {}, no broken link", book.join("index.html").display());
    }
    Ok(TaskResult::from_success(problems.is_empty()))
}

fn remove(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)
            .with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}

/// Copies settings, pages and the files that they link to.
fn copy_sources(repository: &Repository, copies: &Path) -> Result<()> {
    for file in SETTINGS {
        let name = Path::new(file).file_name().unwrap_or_default();
        copy(&repository.path(file), &copies.join(name))?;
    }
    let summary = sources::read(&repository.path(SUMMARY))?;
    let pages_directory = copies.join("src");
    for file in files(repository, &summary)? {
        copy(&repository.path(&file), &pages_directory.join(&file))?;
    }
    let path = pages_directory.join("SUMMARY.md");
    fs::write(&path, from_root(&summary))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the pages of the book and all files that they link to.
fn files(repository: &Repository, summary: &str) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for page in pages(summary) {
        let text = sources::read(&repository.path(&page))?;
        let linked = linked_files(&page, &text);
        files.extend(linked.into_iter().filter(|file| repository.path(file).is_file()));
        files.insert(page);
    }
    Ok(files)
}

/// Returns the table of contents with links relative to the root: mdBook reads it there.
fn from_root(summary: &str) -> String {
    link_targets(summary).iter().fold(summary.to_owned(), |text, link| {
        let path = resolve(Path::new(SUMMARY), link);
        text.replace(&format!("]({link})"), &format!("]({})", path.display()))
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("cannot copy {} to {}", from.display(), to.display());
    fs::create_dir_all(to.parent().unwrap_or(to)).with_context(failed)?;
    fs::copy(from, to).map(drop).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_is_read_from_the_root() {
        assert_eq!(
            from_root("# S\n\n[a](../README.md)\n- [b](x/y.md)\n    - [c](z.md)\n"),
            "# S\n\n[a](README.md)\n- [b](docs/x/y.md)\n    - [c](docs/z.md)\n"
        );
    }

    #[test]
    fn the_copies_are_the_pages_and_what_they_show() {
        let repository = Repository::find().unwrap();
        let directory = tempfile::tempdir().unwrap();
        copy_sources(&repository, directory.path()).unwrap();
        for file in [
            "book.toml",
            "book.css",
            "src/SUMMARY.md",
            "src/README.md",
            "src/docs/METHOD.md",
            "src/docs/answers/overlay.svg",
            "src/docs/schema/run.json",
        ] {
            assert!(directory.path().join(file).is_file(), "{file}");
        }
        assert!(!directory.path().join("src/docs/runs/tour.json").exists(), "no page links to it");
    }
}
