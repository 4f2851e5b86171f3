//! `cargo xtask generated`: writes the files made from the program itself, the JSON schemas, the tables of the guide and
//! the pages of studies. `cargo xtask study-result DIR` stores the result from which such a page is made.

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// Directory of the schemas. It has no other files.
const SCHEMAS: &str = "docs/schema";

/// Directory of the guide's pages.
const GUIDE: &str = "docs/guide/src";

/// Directory of the pages of studies, each beside the result that it is made from.
const STUDIES: &str = "docs/studies";

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
    for entry in
        fs::read_dir(repository.path(STUDIES)).with_context(|| format!("cannot read {STUDIES}"))?
    {
        let result = entry?.path();
        if result.extension().is_some_and(|extension| extension == "json") {
            let mut tare = repository.command(repository.tare());
            let page = process::output(tare.arg("study-page").arg(&result))?;
            let path = result.with_extension("md");
            fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(TaskResult::Passed)
}

/// Stores what a study's page needs of a run's result: neither cells nor findings, and of the machine only its kind.
pub(crate) fn store_result(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let [directory] = arguments else { bail!("expected the directory of a run") };
    let path = Path::new(directory).join("result.json");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let result = shorten(serde_json::from_str(&text)?)
        .with_context(|| format!("{} is no result of a run", path.display()))?;
    let study = result["study"].as_str().unwrap_or_default();
    let stored = repository.path(format!("{STUDIES}/{study}.json"));
    fs::write(&stored, format!("{result:#}\n"))
        .with_context(|| format!("cannot write {}", stored.display()))?;
    Ok(TaskResult::Passed)
}

/// Removes what no page shows. Returns `None` if the text is no result.
fn shorten(mut result: Value) -> Option<Value> {
    for list in ["cells", "findings", "interim_analyses"] {
        *result.get_mut(list).unwrap_or(&mut Value::Null) = Value::Array(Vec::new());
    }
    let environment = result.get_mut("environment")?.as_object_mut()?;
    for list in ["devices", "headroom", "engines", "congestion_controls_allowed"] {
        environment.insert(list.to_owned(), Value::Array(Vec::new()));
    }
    for map in ["mitigations", "sysctls", "programs"] {
        environment.insert(map.to_owned(), Value::Object(Map::new()));
    }
    Some(result)
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
    fn a_stored_result_has_no_cells_and_nothing_of_the_machine_but_its_kind() {
        let result = serde_json::json!({
            "study": "x", "cells": [1], "findings": [2], "rerun": {"figures": [3]},
            "environment": {"cpu": "some", "devices": [{"name": "eth0"}], "sysctls": {"a": "1"}},
        });
        let kept = shorten(result).unwrap();
        assert_eq!(
            (&kept["cells"], &kept["environment"]["devices"]),
            (&Value::from([0; 0]), &Value::from([0; 0]))
        );
        assert_eq!(
            (&kept["rerun"]["figures"][0], &kept["environment"]["cpu"]),
            (&Value::from(3), &Value::from("some"))
        );
        assert!(shorten(Value::Null).is_none());
    }

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
