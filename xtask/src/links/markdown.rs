//! Markdown parser for links: link targets and headings, without code, and the files that targets mean.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Returns the targets of the inline links of a text, in order. Links in code are left out.
pub(crate) fn link_targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose_lines(text) {
        let line = without_code_spans(line);
        let mut rest = line.as_str();
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let Some(end) = rest.find(')') else { break };
            // A title may follow the target: (file.md "title").
            let target = rest[..end].split_whitespace().next();
            targets.extend(target.map(str::to_owned));
            rest = &rest[end + 1..];
        }
    }
    targets
}

/// Returns the anchors of the headings of a text, as GitHub and mdBook make them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for heading in prose_lines(text).filter_map(heading) {
        let anchor = anchor(heading);
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// Returns true for the target of a link to another site.
pub(crate) fn is_elsewhere(link: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// Resolves a link's target to a path from the root, without `.` and `..`. An empty link points to its own file.
pub(crate) fn resolve(file: &Path, link: &str) -> PathBuf {
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

/// Returns the lines outside of fenced code.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Returns the text of a heading: `Title` for `## Title`.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    if text.len() == line.len() { None } else { text.strip_prefix(' ') }
}

fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Removes the text between pairs of backquotes. A single backquote is kept.
fn without_code_spans(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let paired = parts.len() - (parts.len() + 1) % 2;
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        if at >= paired {
            text.push('`');
            text.push_str(part);
        } else if at % 2 == 0 {
            text.push_str(part);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_of_code_are_found() {
        let text = "[a](one.md) and [![b](two.png)](three.md#x \"title\")\n\
                    `[c](no.md)` [d](four.md) `open [e](five.md)\n\
                      ```sh\n[f](no.md)\n  ```\n[g](#here)";
        assert_eq!(
            link_targets(text),
            ["one.md", "two.png", "three.md#x", "four.md", "five.md", "#here"]
        );
    }

    #[test]
    fn headings_have_anchors() {
        let text = "# What it *is*: `tare run`, in 3 steps!\n```\n# no\n```\n#no\n## A_b-c\n## A_b-c\n# Über\n";
        assert_eq!(anchors(text), ["what-it-is-tare-run-in-3-steps", "a_b-c", "a_b-c-1", "über"]);
    }

    #[test]
    fn code_spans_go_in_pairs() {
        for (line, expected) in
            [("a", "a"), ("a `b` c", "a  c"), ("a `b` `c", "a  `c"), ("`a`", "")]
        {
            assert_eq!(without_code_spans(line), expected, "{line}");
        }
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
}
