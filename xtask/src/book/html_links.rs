//! Links of a directory of HTML pages: every one to a file of the directory, or to an element of a page, leads there.

use crate::directory;
use crate::links::markdown::{is_elsewhere, resolve};
use crate::sources;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Attributes whose values are links.
const LINKS: [&str; 2] = ["href", "src"];

/// Page for the addresses that a server does not know. Its links are relative to the root of the server.
const NOT_FOUND: &str = "404.html";

/// HTML page: where it leads, and to where in it others may lead.
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

/// Lists the broken links of all pages below a directory.
pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let (pages, files) = read(root)?;
    let mut problems = Vec::new();
    for (file, page) in &pages {
        for link in page.links.iter().filter(|link| !is_elsewhere(link)) {
            let problem = problem(file, link, &pages, &files);
            problems.extend(problem.map(|why| format!("{}: {link}: {why}", file.display())));
        }
    }
    Ok(problems)
}

/// Returns the problem of a link. Returns `None` if it is valid.
fn problem(
    file: &Path,
    link: &str,
    pages: &BTreeMap<PathBuf, Page>,
    files: &BTreeSet<PathBuf>,
) -> Option<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = resolve(file, path);
    if !files.contains(&target) {
        return Some(format!("there is no {}", target.display()));
    }
    let page = pages.get(&target)?;
    let is_found = anchor.is_empty() || page.anchors.contains(anchor);
    (!is_found).then(|| format!("{} has no element of this name", target.display()))
}

/// Returns the pages below a directory and the paths of all its files, relative to it.
fn read(root: &Path) -> Result<(BTreeMap<PathBuf, Page>, BTreeSet<PathBuf>)> {
    let (mut pages, mut files) = (BTreeMap::new(), BTreeSet::new());
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory::entries(&directory)? {
            if entry.is_dir() {
                open.push(entry);
                continue;
            }
            let file = entry.strip_prefix(root).unwrap_or(&entry).to_owned();
            if file.extension().is_some_and(|end| end == "html") && file != Path::new(NOT_FOUND) {
                let text = sources::read(&entry)?;
                pages.insert(file.clone(), Page::parse(&text));
            }
            files.insert(file);
        }
    }
    Ok((pages, files))
}

impl Page {
    fn parse(text: &str) -> Self {
        let links = LINKS.iter().flat_map(|name| attributes(text, name));
        Self { links: links.collect(), anchors: attributes(text, "id").into_iter().collect() }
    }
}

/// Returns the values of an attribute. Code on a page shows its quotes as entities, so that it has no attribute.
fn attributes(text: &str, name: &str) -> Vec<String> {
    let head = format!(" {name}=\"");
    let values = text.split(&head).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(|value| value.replace("&#x27;", "'").replace("&amp;", "&")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Lists the problems of a book with two pages: `a.html`, and `d/b.html`, which has an element `here`.
    fn problems_of(text: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("d")).unwrap();
        fs::write(directory.path().join("a.html"), text).unwrap();
        fs::write(directory.path().join("d/b.html"), "<h1 id=\"here\"> <img src=\"../x.png\">")
            .unwrap();
        fs::write(directory.path().join("x.png"), "").unwrap();
        fs::write(directory.path().join("404.html"), "<a href=\"/none\">").unwrap();
        problems(directory.path()).unwrap()
    }

    #[test]
    fn links_within_the_book_and_to_other_sites_are_valid() {
        let text = "<p id=\"it&#x27;s\"><a href=\"d/b.html#here\"> <a class=\"c\" href=\"#it&#x27;s\"> \
                    <a href=\"https://x/y#z\"> <a href=\"d/b.html\"> <code> href=&quot;no&quot;</code>";
        assert_eq!(problems_of(text), [] as [&str; 0]);
    }

    #[test]
    fn a_missing_file_and_a_missing_element_are_found() {
        let text = "<a href=\"d/c.html\"> <img src=\"d/x.png\"> <a href=\"d/b.html#there\"> <a href=\"#here\">";
        assert_eq!(
            problems_of(text),
            [
                "a.html: d/c.html: there is no d/c.html",
                "a.html: d/b.html#there: d/b.html has no element of this name",
                "a.html: #here: a.html has no element of this name",
                "a.html: d/x.png: there is no d/x.png",
            ]
        );
    }
}
