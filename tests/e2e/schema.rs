//! Tests of generated files: schemas and tables are up to date, and there is one source file for each network. Every
//! JSON output matches its schema.

use serde_json::Value;
use std::path::Path;
use support::ScratchDirectory;
use support::program::Tare;
use support::{list, schema, short_run, text};

/// Command that generates the files again.
const REMEDY: &str = "run `make generated` and look at what it changes";

/// Returns the files of a directory with their texts.
fn files(directory: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(entry.path()).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_kept_schemas_are_those_of_this_program() {
    let scratch = ScratchDirectory::new();
    Tare::in_directory(scratch.root()).run(&["schema", "made"]).expect(0);
    let (made, kept) = (files(&scratch.path("made")), files(&schema::directory()));
    assert!(made == kept, "docs/schema is not what this program makes: {REMEDY}");
}

#[test]
fn every_document_is_as_its_schema_says() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for listed in ["networks", "workloads", "studies"] {
        let document = tare.run(&["list", listed, "--json"]).expect(0).json();
        schema::check(&document, &format!("{listed}.json"));
    }
    let doctor = tare.run(&["doctor", "--json", "--settings"]).expect(0).json();
    schema::check(&doctor, "doctor.json");
    assert!(doctor["resolution"].is_null(), "{doctor}");
    schema::check(&tare.run(&["run", "--dry-run", "--json"]).expect(0).json(), "plan.json");
    assert_eq!(scratch.names(), [] as [&str; 0], "none of them measures anything");
}

#[test]
fn a_run_and_every_line_of_its_journal_are_as_their_schemas_say() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // With a pilot and a budget, the journal has a record of every kind that an uninterrupted run writes.
    let arguments = ["--network", "host,veth", "--json", "--out", "out", "--budget", "2s"];
    schema::check(&tare.run(&short_run(&arguments)).expect_measured().json(), "run.json");
    let journal = std::fs::read_to_string(scratch.path("out/journal.jsonl")).expect("a journal");
    let records: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    for record in &records {
        schema::check(record, "journal-record.json");
    }
    let mut kinds: Vec<&str> = records.iter().map(|record| text(record, "record")).collect();
    kinds.dedup();
    // Records of turns are written as each turn ends.
    kinds.retain(|kind| *kind != "turn");
    kinds.dedup();
    assert_eq!(kinds, ["run", "trial", "sizing", "trial", "end"]);
}

#[test]
fn the_schemas_refuse_what_is_not_theirs() {
    let directory = schema::directory();
    for (name, text) in files(&directory) {
        let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema is a schema");
        assert!(!validator.is_valid(&Value::from(vec![1])), "{name}");
    }
}

#[test]
fn a_study_file_may_be_checked_by_its_schema() {
    let studies = schema::repository().join("studies");
    for (name, text) in files(&studies).into_iter().chain(files(&studies.join("answers"))) {
        let study: toml::Table = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        schema::check(&serde_json::to_value(study).expect("TOML is JSON"), "study.json");
    }
}

/// Returns the name of the source file of a network or a workload: its name with underscores, without a user's argument
/// after a colon. Pairs of places share one file.
fn source(name: &str) -> String {
    let name = name.split(':').next().unwrap_or_default();
    let name = if name.contains('/') { "pairs" } else { name };
    name.replace('-', "_")
}

/// Returns whether a folder, or a folder of it, has a module of this name: a file, or a folder with a head.
fn has_module(folder: &Path, name: &str) -> bool {
    let is_here =
        folder.join(format!("{name}.rs")).is_file() || folder.join(name).join("mod.rs").is_file();
    let entries = std::fs::read_dir(folder).expect("the sources are there");
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    is_here || folders.into_iter().any(|folder| has_module(&folder, name))
}

#[test]
fn a_network_and_a_workload_are_each_a_file_of_their_own() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for (listed, directory) in
        [("networks", "crates/lab/src/networks"), ("workloads", "crates/traffic/src/workloads")]
    {
        let document = tare.run(&["list", listed, "--json"]).expect(0).json();
        // The networks of other places are in crates of their own.
        let elsewhere = |name: &str| {
            ["docker:", "swarm:", "podman:", "k8s:"].iter().any(|place| name.starts_with(place))
        };
        let names = list(&document, listed).iter().map(|row| text(row, "name"));
        // Several tests of a foreign tool share one file: iperf3-udp is in that of iperf3.
        let tool = |name: &str| {
            let name = name.split('-').next().unwrap_or(name);
            has_module(&schema::repository().join("crates/tools/src/adapters"), &source(name))
        };
        for name in names.filter(|name| !elsewhere(name)) {
            let folder = schema::repository().join(directory);
            assert!(has_module(&folder, &source(name)) || tool(name), "{name} has no file");
        }
    }
}

#[test]
fn the_tables_of_the_guide_are_those_of_this_program() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let tables = [("networks", "networks"), ("workloads", "workloads"), ("answers", "questions")];
    for (page, listed) in tables {
        let page = schema::repository().join(format!("docs/guide/src/{page}.md"));
        let page = std::fs::read_to_string(page).expect("a page of the guide");
        let made = tare.run(&["list", listed, "--markdown"]).expect(0).text();
        let kept = page
            .split_once(&format!("<!-- {listed}: begin -->\n"))
            .and_then(|(_, rest)| rest.split_once(&format!("<!-- {listed}: end -->")))
            .map(|(table, _)| table);
        assert!(kept == Some(&made), "the guide's {listed} are not this program's: {REMEDY}");
    }
}

/// Checks that README.md shows a picture, with its description in words.
fn check_shown(picture: &Path) {
    let text = std::fs::read_to_string(picture).expect("a picture");
    let description = text.split("<desc>").nth(1).and_then(|rest| rest.split("</desc>").next());
    let readme = std::fs::read_to_string(schema::repository().join("README.md")).expect("README");
    let shown = readme.split("<!-- run: begin -->").nth(1).unwrap_or_default();
    assert!(shown.contains(description.expect("a description")), "{shown}: {REMEDY}");
}

#[test]
fn the_pages_of_studies_and_the_pictures_of_runs_are_those_of_this_program() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for directory in ["docs/studies", "docs/answers", "docs/runs"] {
        let directory = schema::repository().join(directory);
        for (name, kept) in files(&directory) {
            let Some(study) = name.strip_suffix(".json") else { continue };
            schema::check(&serde_json::from_str(&kept).expect("JSON"), "run.json");
            let result = directory.join(&name).display().to_string();
            let is_made = |arguments: &[&str], kept: &str| {
                let made = tare.run(arguments).expect(0).text();
                let kept = std::fs::read_to_string(directory.join(kept)).expect("a page");
                assert!(kept == made, "the page of {study} is not this program's: {REMEDY}");
            };
            if directory.ends_with("runs") {
                let picture = format!("{study}.svg");
                is_made(&["study-page", "--picture", "terminal", &result], &picture);
                check_shown(&directory.join(picture));
                continue;
            }
            is_made(&["study-page", &result], &format!("{study}.md"));
            if directory.ends_with("answers") {
                let index = std::fs::read_to_string(directory.join("README.md")).expect("an index");
                assert!(
                    index.contains(&format!("]({study}.md)")),
                    "{study} is not in the index: {REMEDY}"
                );
                is_made(&["study-page", "--picture", "figure", &result], &format!("{study}.svg"));
            }
        }
    }
}
