//! `cargo xtask links`: follows every link in the Markdown files to a file or a heading of this repository, and
//! compares the guide's files with its table of contents. External addresses are not requested, so a check needs no
//! network.

mod markdown;

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Directory of the user guide, whose table of contents is `SUMMARY.md`.
const GUIDE: &str = "docs/guide/src";

/// Files of the repository. Markdown files have their text.
struct RepositoryFiles {
    markdown: BTreeMap<PathBuf, String>,
    root: PathBuf,
}

/// Checks the links and prints each broken one.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let documents = RepositoryFiles::read(repository)?;
    let mut problems = documents.broken_links();
    problems.extend(summary_problems(&documents.markdown, Path::new(GUIDE)));
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

fn is_elsewhere(link: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// Resolves a link's target to a path from the root, without `.` and `..`. An empty link points to its own file.
fn resolve(file: &Path, link: &str) -> PathBuf {
    if link.is_empty() {
        return file.to_owned();
    }
    let mut path = file.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Lists the files of a guide that its `SUMMARY.md` lacks, and entries without a file.
fn summary_problems(documents: &BTreeMap<PathBuf, String>, guide: &Path) -> Vec<String> {
    let summary = guide.join("SUMMARY.md");
    let Some(text) = documents.get(&summary) else {
        return vec![format!("{}: there is no such file", summary.display())];
    };
    let listed: BTreeSet<PathBuf> =
        markdown::link_targets(text).iter().map(|link| resolve(&summary, link)).collect();
    let files: BTreeSet<PathBuf> = documents
        .keys()
        .filter(|path| path.starts_with(guide) && **path != summary)
        .cloned()
        .collect();
    let missing = files.difference(&listed).map(|path| {
        format!("{}: does not list {}, a file of the guide", summary.display(), path.display())
    });
    let foreign = listed.difference(&files).map(|path| {
        format!("{}: lists {}, which is no file of the guide", summary.display(), path.display())
    });
    missing.chain(foreign).collect()
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

    #[test]
    fn targets_are_relative_to_their_file() {
        for (file, link, target) in [
            ("a/b.md", "", "a/b.md"),
            ("a/b.md", "c.md", "a/c.md"),
            ("a/b.md", "./../d/./c.md", "d/c.md"),
            ("b.md", "c/../d.md", "d.md"),
            ("b.md", "../d.md", "../d.md"),
        ] {
            assert_eq!(resolve(Path::new(file), link), Path::new(target), "{file} {link}");
        }
    }

    #[test]
    fn the_summary_and_the_files_of_the_guide_agree() {
        let guide = Path::new("g");
        let same = [("g/SUMMARY.md", "- [A](a.md)"), ("g/a.md", ""), ("other.md", "")];
        assert_eq!(summary_problems(&documents(&same), guide), [] as [String; 0]);
        let apart = [("g/SUMMARY.md", "- [A](a.md)"), ("g/b.md", "")];
        assert_eq!(
            summary_problems(&documents(&apart), guide),
            [
                "g/SUMMARY.md: does not list g/b.md, a file of the guide",
                "g/SUMMARY.md: lists g/a.md, which is no file of the guide",
            ]
        );
        assert_eq!(
            summary_problems(&documents(&[]), guide),
            ["g/SUMMARY.md: there is no such file"]
        );
    }
}
