//! `cargo xtask generated`: writes the files made from the program itself, the JSON schemas and the tables of
//! the guide.

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;

/// Directory of the schemas. It has no other files.
const SCHEMAS: &str = "docs/schema";

/// Directory of the guide's pages.
const GUIDE: &str = "docs/guide/src";

/// Tables of the guide, by the name of their page, of their markers and of `tare list`.
const TABLES: [&str; 2] = ["networks", "workloads"];

/// Writes schemas and tables.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let schemas = repository.path(SCHEMAS);
    if schemas.exists() {
        fs::remove_dir_all(&schemas)
            .with_context(|| format!("cannot remove {}", schemas.display()))?;
    }
    process::run(repository.command(repository.tare()).args(["schema", SCHEMAS]))?;
    for name in TABLES {
        let page = format!("{GUIDE}/{name}.md");
        let path = repository.path(&page);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
        let mut tare = repository.command(repository.tare());
        let table = process::output(tare.args(["list", name, "--markdown"]))?;
        let text = replace_section(&text, name, &table)
            .with_context(|| format!("{page} has no pair of markers <!-- {name}: begin/end -->"))?;
        fs::write(&path, text).with_context(|| format!("cannot write {page}"))?;
    }
    Ok(TaskResult::Passed)
}

/// Replaces the lines between two markers. Returns `None` if a marker is missing.
fn replace_section(text: &str, name: &str, content: &str) -> Option<String> {
    let begin = format!("<!-- {name}: begin -->\n");
    let end = format!("<!-- {name}: end -->\n");
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    let content = content.trim_end_matches('\n');
    Some(format!("{before}{begin}{content}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_section_is_replaced() {
        let text = "a\n<!-- x: begin -->\nold\nold\n<!-- x: end -->\nb\n";
        let expected = "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n";
        assert_eq!(replace_section(text, "x", "new\n").unwrap(), expected);
        assert_eq!(replace_section(expected, "x", "new").unwrap(), expected);
        assert_eq!(replace_section(text, "y", "new"), None);
        assert_eq!(replace_section("<!-- x: begin -->\n", "x", "new"), None);
    }
}
