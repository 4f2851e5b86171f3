//! `cargo xtask generated`: writes the files made from the program itself, the JSON schemas and the tables in
//! README.md.

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;

/// Directory of the schemas. It has no other files.
const SCHEMAS: &str = "docs/schema";

/// Tables of README.md, by the name of their markers and of `tare list`.
const TABLES: [&str; 2] = ["networks", "workloads"];

/// Writes schemas and tables.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let schemas = repository.path(SCHEMAS);
    if schemas.exists() {
        fs::remove_dir_all(&schemas)
            .with_context(|| format!("cannot remove {}", schemas.display()))?;
    }
    process::run(repository.command(repository.tare()).args(["schema", SCHEMAS]))?;
    let readme = repository.path("README.md");
    let mut text = fs::read_to_string(&readme).context("cannot read README.md")?;
    for name in TABLES {
        let mut tare = repository.command(repository.tare());
        let table = process::output(tare.args(["list", name, "--markdown"]))?;
        text = replace_section(&text, name, &table).with_context(|| {
            format!("README.md has no pair of markers <!-- {name}: begin/end -->")
        })?;
    }
    fs::write(&readme, text).context("cannot write README.md")?;
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
