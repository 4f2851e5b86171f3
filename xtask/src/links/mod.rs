//! `cargo xtask links`: follows every link in the Markdown files to a file or a heading of this repository, and
//! compares the pages of the book with its table of contents. External addresses are not requested, so a check needs no
//! network.

pub(crate) mod book_pages;
pub(crate) mod markdown;

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use markdown::{is_elsewhere, resolve};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of the repository. Markdown files have their text.
struct RepositoryFiles {
    markdown: BTreeMap<PathBuf, String>,
    root: PathBuf,
}

/// Checks the links and prints each broken one.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let documents = RepositoryFiles::read(repository)?;
    let mut problems = documents.broken_links();
    problems.extend(book_pages::problems(&documents.markdown));
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("links: {} Markdown files, no broken link", documents.markdown.len());
    }
    Ok(TaskResult::from_success(problems.is_empty()))
}

impl RepositoryFiles {
    fn read(repository: &Repository) -> Result<Self> {
        let listed = process::output(repository.command("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ]))?;
        let root = repository.root().to_owned();
        let mut markdown = BTreeMap::new();
        for name in listed.split('\0').filter(|name| !name.is_empty()) {
            let path = root.join(name);
            // A removed file that is not yet committed is still listed.
            if !path.exists() {
                continue;
            }
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            markdown.insert(PathBuf::from(name), text);
        }
        Ok(Self { markdown, root })
    }

    fn broken_links(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (file, text) in &self.markdown {
            for link in markdown::link_targets(text) {
                problems.extend(self.broken_link(file, text, &link));
            }
        }
        problems
    }

    /// Returns the problem of a link. Returns `None` if it is valid.
    fn broken_link(&self, file: &Path, text: &str, link: &str) -> Option<String> {
        if is_elsewhere(link) {
            return None;
        }
        let (path, anchor) = match link.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (link, None),
        };
        let target = resolve(file, path);
        let shown = format!("{}: {link}", file.display());
        if !self.markdown.contains_key(&target) && !self.root.join(&target).exists() {
            return Some(format!("{shown}: there is no {}", target.display()));
        }
        let anchor = anchor?;
        let text = if target == file { text } else { self.markdown.get(&target)? };
        let found = markdown::anchors(text).iter().any(|known| known == anchor);
        (!found).then(|| format!("{shown}: {} has no heading for #{anchor}", target.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(files: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
        files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
    }

    /// The repository's own root, so that Cargo.toml and docs are present.
    fn problem(files: &[(&str, &str)]) -> Vec<String> {
        let root = Repository::find().unwrap().root().to_owned();
        RepositoryFiles { markdown: documents(files), root }.broken_links()
    }

    #[test]
    fn links_to_files_and_headings_are_followed() {
        let good =
            "# Title\n[a](#title) [b](../Cargo.toml) [c](https://x/#y) [d](../README.md#top)";
        assert_eq!(problem(&[("docs/a.md", good), ("README.md", "# Top")]), [] as [String; 0]);
        assert_eq!(
            problem(&[
                ("docs/ADDING.md", "[a](none.md)\n[b](#no)\n[c](../README.md#no)"),
                ("README.md", "# Top")
            ]),
            [
                "docs/ADDING.md: none.md: there is no docs/none.md",
                "docs/ADDING.md: #no: docs/ADDING.md has no heading for #no",
                "docs/ADDING.md: ../README.md#no: README.md has no heading for #no",
            ]
        );
    }
}
