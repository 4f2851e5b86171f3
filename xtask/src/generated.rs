//! `cargo xtask generated`: writes the files made from the program itself, the JSON schemas, the tables of the guide, the
//! pages of studies and the pictures of runs. `cargo xtask study-result DIR` stores the result from which such a page is made.

use crate::TaskResult;
use crate::directory;
use crate::process;
use crate::repository::Repository;
use crate::sources;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of the schemas. It has no other files.
const SCHEMAS: &str = "docs/schema";

/// Directory of the guide's pages.
const GUIDE: &str = "docs/guide/src";

/// Directory of the pages of published studies, each beside the result that it is made from.
const STUDIES: &str = "docs/studies";

/// Directory of the pages of questions, each beside the result that it is made from, with its figure.
const ANSWERS: &str = "docs/answers";

/// Directory of the pictures of other runs, each beside the result that it is made from.
const RUNS: &str = "docs/runs";

/// Picture of the run that README.md shows.
const SHOWN_RUN: &str = "docs/runs/tour.svg";

/// Tables of the guide, by the name of their page, and by that of their markers and of `tare list`.
const TABLES: [(&str, &str); 3] =
    [("networks", "networks"), ("workloads", "workloads"), ("answers", "questions")];

/// Writes schemas and tables.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    write_schemas(repository)?;
    for (page, name) in TABLES {
        let page = format!("{GUIDE}/{page}.md");
        let path = repository.path(&page);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
        let mut tare = repository.command(repository.tare());
        let table = process::output(tare.args(["list", name, "--markdown"]))?;
        let text = replace_section(&text, name, &table)
            .with_context(|| format!("{page} has no pair of markers <!-- {name}: begin/end -->"))?;
        fs::write(&path, text).with_context(|| format!("cannot write {page}"))?;
    }
    for result in stored_results(repository, STUDIES)? {
        write_page(repository, &result, &[], "md")?;
    }
    for result in stored_results(repository, ANSWERS)? {
        write_page(repository, &result, &[], "md")?;
        write_page(repository, &result, &["--picture", "figure"], "svg")?;
    }
    for result in stored_results(repository, RUNS)? {
        write_page(repository, &result, &["--picture", "terminal"], "svg")?;
    }
    write_shown_run(repository)?;
    write_index(repository)?;
    Ok(TaskResult::Passed)
}

/// Writes the schemas beside the old ones, and then in their place: a program that cannot be run leaves the old ones.
fn write_schemas(repository: &Repository) -> Result<()> {
    let schemas = repository.path(SCHEMAS);
    let new = repository.path("target/schemas");
    process::run(repository.command(repository.tare()).arg("schema").arg(&new))?;
    if schemas.exists() {
        fs::remove_dir_all(&schemas)
            .with_context(|| format!("cannot remove {}", schemas.display()))?;
    }
    fs::rename(&new, &schemas).with_context(|| format!("cannot write {}", schemas.display()))
}

/// Returns the stored results of a directory.
fn stored_results(repository: &Repository, directory: &str) -> Result<Vec<PathBuf>> {
    let paths = directory::entries(&repository.path(directory))?;
    Ok(paths.into_iter().filter(|path| path.extension() == Some(OsStr::new("json"))).collect())
}

/// Writes what `tare study-page` makes of a result, beside it.
fn write_page(
    repository: &Repository,
    result: &Path,
    flags: &[&str],
    extension: &str,
) -> Result<()> {
    let mut tare = repository.command(repository.tare());
    let page = process::output(tare.arg("study-page").args(flags).arg(result))?;
    let path = result.with_extension(extension);
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the picture of the run that README.md shows into it, with the answer of that run in words.
fn write_shown_run(repository: &Repository) -> Result<()> {
    let picture = sources::read(&repository.path(SHOWN_RUN))?;
    let answer = description(&picture).with_context(|| format!("{SHOWN_RUN} has no <desc>"))?;
    let path = repository.path("README.md");
    let shown = format!("![Report of a run on a terminal. {answer}]({SHOWN_RUN})");
    let text = replace_section(&sources::read(&path)?, "run", &shown)
        .context("README.md has no pair of markers <!-- run: begin/end -->")?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the description of a picture (SVG).
fn description(picture: &str) -> Option<&str> {
    Some(picture.split_once("<desc>")?.1.split_once("</desc>")?.0)
}

/// Writes the list of answered questions into the head of their directory.
fn write_index(repository: &Repository) -> Result<()> {
    let mut lines = Vec::new();
    for result in stored_results(repository, ANSWERS)? {
        let text = sources::read(&result)?;
        let name = result.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        lines.extend(index_line(&name, &serde_json::from_str(&text)?));
    }
    lines.sort();
    let path = repository.path(format!("{ANSWERS}/README.md"));
    let text = replace_section(&sources::read(&path)?, "answers", &lines.join("\n"))
        .context("docs/answers/README.md has no pair of markers <!-- answers: begin/end -->")?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns a question, linked to its page, with the sentence that answers it and whether it held.
fn index_line(name: &str, result: &Value) -> Option<String> {
    let rerun = &result["rerun"];
    let asked = rerun["question"]["asked"].as_str()?;
    let conclusion = &rerun["conclusions"][0];
    let (claim, held) = (conclusion["claim"].as_str()?, conclusion["result"].as_str()?);
    let held = if held == "holds" { String::new() } else { format!(" ({held} there)") };
    Some(format!("- [{asked}]({name}.md) {claim}{held}"))
}

/// Stores what a page or a picture needs of a run's result: findings only for pictures, cells only for tables and
/// pictures, and of the machine only its kind.
pub(crate) fn store_result(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let [directory] = arguments else { bail!("expected the directory of a run") };
    let path = Path::new(directory).join("result.json");
    let mut result: Value = serde_json::from_str(&sources::read(&path)?)?;
    let directory = directory_of(&result);
    let cells = if directory == STUDIES { Vec::new() } else { aggregate_cells(&result) };
    let environment = result["environment"].as_object_mut();
    shorten_environment(
        environment.with_context(|| format!("{} is no result of a run", path.display()))?,
    );
    result["cells"] = Value::Array(cells);
    result["interim_analyses"] = Value::Array(Vec::new());
    // The picture of a run has its notes, too.
    if directory != RUNS {
        result["findings"] = Value::Array(Vec::new());
    }
    let study = result["study"].as_str().unwrap_or_default();
    let stored = repository.path(format!("{directory}/{study}.json"));
    fs::write(&stored, format!("{result:#}\n"))
        .with_context(|| format!("cannot write {}", stored.display()))?;
    Ok(TaskResult::Passed)
}

/// Returns the directory in which a result is stored: by its question, by its source, or as any other run.
fn directory_of(result: &Value) -> &'static str {
    match &result["rerun"] {
        Value::Null => RUNS,
        rerun if rerun.get("question").is_some_and(|question| !question.is_null()) => ANSWERS,
        _ => STUDIES,
    }
}

/// Returns the cells over all clients, of which pages and pictures have tables.
fn aggregate_cells(result: &Value) -> Vec<Value> {
    let cells = result["cells"].as_array().into_iter().flatten();
    cells.filter(|cell| cell["scope"] == "aggregate").cloned().collect()
}

/// Removes what no page shows of the machine: all but its kind.
fn shorten_environment(environment: &mut Map<String, Value>) {
    for list in ["devices", "headroom", "engines", "congestion_controls_allowed"] {
        environment.insert(list.to_owned(), Value::Array(Vec::new()));
    }
    for map in ["mitigations", "sysctls", "programs"] {
        environment.insert(map.to_owned(), Value::Object(Map::new()));
    }
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
    fn of_the_machine_only_its_kind_is_kept() {
        let mut environment = serde_json::json!({
            "cpu": "some", "devices": [{"name": "eth0"}], "sysctls": {"a": "1"},
        });
        shorten_environment(environment.as_object_mut().unwrap());
        assert_eq!(environment["devices"], Value::from([0; 0]));
        assert_eq!(
            (&environment["cpu"], &environment["sysctls"]),
            (&"some".into(), &Map::new().into())
        );
    }

    #[test]
    fn cells_of_single_clients_are_not_kept() {
        let result =
            serde_json::json!({ "cells": [{"scope": "aggregate"}, {"scope": "client 1"}] });
        assert_eq!(aggregate_cells(&result).len(), 1);
        assert!(aggregate_cells(&Value::Null).is_empty());
    }

    #[test]
    fn the_description_of_a_picture_is_found() {
        assert_eq!(description("<svg><title>t</title><desc>It is.</desc></svg>"), Some("It is."));
        assert_eq!(description("<svg></svg>"), None);
    }

    #[test]
    fn a_result_is_stored_by_its_kind() {
        let answer = serde_json::json!({ "rerun": { "question": { "asked": "Is it?" } } });
        let study = serde_json::json!({ "rerun": { "figures": [] } });
        for (result, directory) in
            [(answer, ANSWERS), (study, STUDIES), (serde_json::json!({}), RUNS)]
        {
            assert_eq!(directory_of(&result), directory, "{result}");
        }
    }

    #[test]
    fn a_line_of_the_index_says_where_a_sentence_did_not_hold() {
        let result = |held: &str| {
            serde_json::json!({ "rerun": {
                "question": { "asked": "Is it?" },
                "conclusions": [{ "claim": "It is.", "result": held }],
            }})
        };
        assert_eq!(index_line("x", &result("holds")).unwrap(), "- [Is it?](x.md) It is.");
        assert_eq!(
            index_line("x", &result("fails")).unwrap(),
            "- [Is it?](x.md) It is. (fails there)"
        );
        assert_eq!(index_line("x", &Value::Null), None);
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
