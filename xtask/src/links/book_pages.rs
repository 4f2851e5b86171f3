//! Pages of the book: the Markdown files that `docs/SUMMARY.md` lists. Every page below `docs/` is one, and a page links
//! to no Markdown file that is none: a reader of the book could not follow that link.

use super::markdown::{is_elsewhere, link_targets, resolve};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Table of contents of the book. Its links are relative to its own directory, as in any Markdown file.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// Directory whose Markdown files are all pages of the book.
const DOCUMENTATION: &str = "docs";

/// Returns the pages of a table of contents in order, as paths from the repository's root.
pub(crate) fn pages(summary: &str) -> Vec<PathBuf> {
    link_targets(summary).iter().map(|link| resolve(Path::new(SUMMARY), link)).collect()
}

/// Returns the files of the repository to which a page links, Markdown or not.
pub(crate) fn linked_files(page: &Path, text: &str) -> BTreeSet<PathBuf> {
    let targets = link_targets(text);
    let paths = targets.iter().filter(|link| !is_elsewhere(link)).map(|link| {
        let path = link.split('#').next().unwrap_or_default();
        resolve(page, path)
    });
    paths.collect()
}

/// Lists what keeps the pages from being a book: pages without an entry, entries without a page, and links that leave it.
pub(super) fn problems(documents: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let Some(summary) = documents.get(Path::new(SUMMARY)) else {
        return vec![format!("{SUMMARY}: there is no such file")];
    };
    let pages: BTreeSet<PathBuf> = pages(summary).into_iter().collect();
    let is_unlisted = |path: &&PathBuf| {
        path.starts_with(DOCUMENTATION) && **path != Path::new(SUMMARY) && !pages.contains(*path)
    };
    let unlisted = documents.keys().filter(is_unlisted).map(|path| {
        format!("{SUMMARY}: does not list {}, a page of {DOCUMENTATION}", path.display())
    });
    let absent = pages.iter().filter(|page| !documents.contains_key(*page)).map(|page| {
        format!("{SUMMARY}: lists {}, which is no page of this repository", page.display())
    });
    let leaving = pages.iter().flat_map(|page| leaving_links(page, documents, &pages));
    unlisted.chain(absent).chain(leaving).collect()
}

/// Lists the links of a page to Markdown files that are no pages of the book.
fn leaving_links(
    page: &Path,
    documents: &BTreeMap<PathBuf, String>,
    pages: &BTreeSet<PathBuf>,
) -> Vec<String> {
    let linked = documents.get(page).map(|text| linked_files(page, text)).unwrap_or_default();
    linked
        .iter()
        .filter(|target| documents.contains_key(*target) && !pages.contains(*target))
        .map(|target| {
            let (page, target) = (page.display(), target.display());
            format!("{page}: links to {target}, which {SUMMARY} does not list")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(files: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
        files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
    }

    #[test]
    fn a_summary_lists_all_pages_of_the_documentation_and_others_that_it_chooses() {
        let good = [
            (SUMMARY, "- [A](a/README.md)\n- [B](../README.md)"),
            ("docs/a/README.md", "[up](../../README.md) [x](https://y/z.md) [s](../s.json)"),
            ("README.md", "[a](docs/a/README.md#top)"),
            ("other.md", "[not](docs/none.md)"),
        ];
        assert_eq!(problems(&documents(&good)), [] as [&str; 0]);
        assert_eq!(pages(good[0].1), [Path::new("docs/a/README.md"), Path::new("README.md")]);
    }

    #[test]
    fn a_forgotten_page_an_entry_without_one_and_a_link_out_of_the_book_are_problems() {
        let bad = [
            (SUMMARY, "- [A](a.md)\n- [C](c.md)"),
            ("docs/a.md", "[out](../README.md)"),
            ("docs/b.md", ""),
            ("README.md", ""),
        ];
        assert_eq!(
            problems(&documents(&bad)),
            [
                "docs/SUMMARY.md: does not list docs/b.md, a page of docs",
                "docs/SUMMARY.md: lists docs/c.md, which is no page of this repository",
                "docs/a.md: links to README.md, which docs/SUMMARY.md does not list",
            ]
        );
        assert_eq!(problems(&documents(&[])), ["docs/SUMMARY.md: there is no such file"]);
    }

    #[test]
    fn linked_files_are_paths_from_the_root() {
        let text = "[a](../x.py) [b](#here) [c](d.md#e) [d](mailto:x)";
        let expected = ["docs/d.md", "docs/p.md", "x.py"].map(PathBuf::from);
        assert_eq!(linked_files(Path::new("docs/p.md"), text), expected.into());
    }
}
