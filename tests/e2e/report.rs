//! Tests of `tare report`: it repeats the output of a run from its journal alone, with all its notes, and shows other
//! views of it.

use serde_json::Value;
use std::path::Path;
use support::ScratchDirectory;
use support::journal::{measured_blocks, trials};
use support::program::{ProgramOutcome, Tare};
use support::{check_shown_again, list, short_run, text};

/// Runs a short measurement with these arguments into the directory `out`.
fn measured(scratch: &ScratchDirectory, arguments: &[&str]) -> (Tare, ProgramOutcome) {
    let tare = Tare::in_directory(scratch.root());
    let outcome = tare.run(&[short_run(arguments), vec!["--out", "out"]].concat()).expect(0);
    (tare, outcome)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the run wrote it")
}

#[test]
fn a_run_is_shown_again_byte_for_byte() {
    let scratch = ScratchDirectory::new();
    let (tare, run) = measured(&scratch, &["--network", "host,bridge,veth+plain", "--blocks", "2"]);
    let again = tare.run(&["report", "out"]).expect(0);
    check_shown_again(&again.text(), &run.text());
    let files = |name: &str| read(&scratch.path("out").join(name));
    let json = tare.run(&["report", "out", "--json"]).expect(0);
    assert_eq!(json.stdout, files("result.json"));
    let csv = tare.run(&["report", "out", "--csv", "-"]).expect(0);
    assert_eq!(csv.stdout, files("result.csv"));
    let file = tare.run(&["report", "out", "--csv", "copy.csv"]).expect(0);
    assert_eq!(file.text(), "", "whoever asks for a file gets that file");
    assert_eq!(read(&scratch.path("copy.csv")), files("result.csv"));
    let density = tare.run(&["report", "out", "--density", "-"]).expect(0).text();
    for label in ["host", "bridge", "veth+plain"] {
        // Every round trip is in one of the rows, and the last row completes them.
        let mut rows = density.lines().filter(|line| line.starts_with(&format!("{label},tcp-rr,")));
        let column = |row: &str, last: usize| row.rsplit(',').nth(last).map(str::parse::<f64>);
        let column = |row, last| column(row, last).expect("a column").expect("a number");
        let counted: f64 = rows.clone().map(|row| column(row, 3)).sum();
        let cumulative = column(rows.next_back().expect("a row"), 1);
        assert!(counted > 0.0 && (cumulative - 1.0).abs() < 1e-9, "{label}: {density}");
    }
}

#[test]
fn only_the_journal_is_needed() {
    let scratch = ScratchDirectory::new();
    let (tare, run) = measured(&scratch, &["--network", "host,veth", "--blocks", "2"]);
    std::fs::create_dir(scratch.path("alone")).expect("a directory");
    std::fs::copy(scratch.path("out/journal.jsonl"), scratch.path("alone/journal.jsonl"))
        .expect("a copy");
    check_shown_again(&tare.run(&["report", "alone"]).expect(0).text(), &run.text());
    let journal = String::from_utf8(read(&scratch.path("alone/journal.jsonl"))).expect("text");
    let document = tare.run(&["report", "alone", "--json"]).expect(0).json();
    crate::recompute::check(&journal, &document);
}

#[test]
fn a_figure_that_does_not_follow_from_the_journal_is_noticed() {
    let scratch = ScratchDirectory::new();
    let (_, run) = measured(&scratch, &["--network", "host,veth", "--blocks", "3", "--json"]);
    let journal = String::from_utf8(read(&scratch.path("out/journal.jsonl"))).expect("text");
    let document = run.json();
    crate::recompute::check(&journal, &document);
    let cells = list(&document, "cells");
    let compared = cells.iter().position(|cell| !cell["ratio"].is_null()).expect("a ratio");
    for figure in [
        "mean",
        "median",
        "uncut_mean",
        "ci95/0",
        "samples/1",
        "ratio/value",
        "ratio/ci90/0",
        "ratio/ci95/1",
        "ratio/p",
        "ratio/p_adjusted",
        "ratio/detectable",
    ] {
        let at = format!("/cells/{compared}/{figure}");
        let mut wrong = document.clone();
        let place = wrong.pointer_mut(&at).expect("a figure");
        *place = (place.as_f64().expect("a number") + 1e-5 * scale(&document, &at)).into();
        let noticed =
            std::panic::catch_unwind(|| crate::recompute::check(&journal, &wrong)).is_err();
        assert!(noticed, "{figure} was off by a hundred-thousandth");
    }
}

/// Returns the magnitude by which the figure at a place is compared: its own, or that of the larger end of its interval.
fn scale(document: &Value, at: &str) -> f64 {
    let magnitude = |at: &str| {
        let figure = document.pointer(at).and_then(Value::as_f64);
        figure.expect("a number").abs()
    };
    match at.rsplit_once('/') {
        Some((interval, _)) if interval.contains("/ci9") => {
            magnitude(&format!("{interval}/0")).max(magnitude(&format!("{interval}/1")))
        }
        _ => magnitude(at),
    }
}

/// Returns true if a figure of a cell is 0, which has no logarithm.
fn has_zero(cell: &Value) -> bool {
    list(cell, "samples").iter().any(|sample| sample.as_f64() == Some(0.0))
}

#[test]
fn other_views_of_the_same_run() {
    let scratch = ScratchDirectory::new();
    let (tare, _) =
        measured(&scratch, &["--network", "host,bridge,veth", "--blocks", "3", "--seed", "5"]);
    let document = tare.run(&["report", "out", "--baseline", "bridge", "--json"]).expect(0).json();
    let cells: Vec<&Value> =
        list(&document, "cells").iter().filter(|cell| cell["metric"] == "throughput").collect();
    let blocks = |cell: &Value| list(cell, "blocks").to_vec();
    for cell in &cells {
        let is_base =
            |one: &&&Value| one["label"] == "bridge" && one["workload"] == cell["workload"];
        let base = cells.iter().find(is_base).expect("the baseline's cell");
        // A trial that a busy machine held up has no figure, and its block no pair. A ratio takes two pairs, and a figure
        // of 0, of a trial that waited for a retransmission all the time, has none.
        let pairs = blocks(cell).iter().filter(|block| blocks(base).contains(block)).count();
        let has_ratio =
            cell["label"] != "bridge" && pairs > 1 && !has_zero(cell) && !has_zero(base);
        let expected = has_ratio.then_some("bridge");
        assert_eq!(cell["ratio"]["baseline"].as_str(), expected, "{cell}");
    }
    let pairs = tare.run(&["report", "out", "--pairs"]).expect(0).text();
    for network in ["host", "bridge", "veth"] {
        assert!(pairs.contains(network), "{pairs}");
    }
    let markdown = tare.run(&["report", "out", "--markdown"]).expect(0).text();
    let rows = |name: &str| markdown.lines().filter(|line| line.starts_with(name)).count();
    assert!(rows("| host ") > 0 && rows("| host ") == rows("| bridge "), "{markdown}");
    assert!(rows("|--") + rows("| --") + rows("|:-") + rows("| :-") > 0, "{markdown}");
    tare.run(&["report", "out", "--baseline", "moon"])
        .assert_error(2, &["the baseline `moon` is not in this run", "host, bridge, veth"]);
}

#[test]
fn colours_are_for_terminals_only() {
    let scratch = ScratchDirectory::new();
    let (_, run) = measured(&scratch, &["--network", "host,bridge", "--blocks", "2"]);
    assert!(!run.stdout.contains(&0x1b) && !run.stderr.contains('\x1b'), "{}", run.text());
}

#[test]
fn a_study_file_is_measured_as_it_says() {
    let scratch = ScratchDirectory::new();
    scratch.write_file(
        "mine.toml",
        "networks = [\"host\", \"inner=bridge\"]\n\
         baseline = \"inner\"\n\
         metrics = [\"throughput\", \"transactions\"]\n\
         [[workload]]\n\
         name = \"tcp-stream\"\n\
         duration = \"400ms\"\n\
         parameters = { size = 4096 }\n\
         [[workload]]\n\
         name = \"tcp-rr\"\n\
         duration = \"500ms\"\n\
         [shape]\n\
         flows = [1, 2]\n\
         [method]\n\
         blocks = 2\n\
         interval = \"10ms\"\n\
         seed = 11\n\
         [method.margins]\n\
         throughput = \"7%\"\n",
    );
    let tare = Tare::in_directory(scratch.root());
    let document = tare.run(&["run", "mine.toml", "--json", "--out", "out"]).expect(0).json();
    assert_eq!(document["study"], "mine");
    assert_eq!(document["seed"], 11);
    assert_eq!(document["stopped_by"], "blocks");
    let cells = list(&document, "cells");
    assert_eq!(cells.len(), 2 * 2 * 2, "networks, metrics, shapes");
    let trials = trials(&scratch.path("out"));
    for cell in cells {
        let blocks = measured_blocks(&trials, text(cell, "label"), text(cell, "workload"));
        assert_eq!(blocks, 2, "{cell}");
        let comparable = |other: &&Value| {
            other["label"] == "inner"
                && ["metric", "shape"].iter().all(|key| other[*key] == cell[*key])
        };
        let base = cells.iter().find(comparable).expect("the baseline's cell");
        let is_whole = |cell: &Value| cell["n"] == 2 && !has_zero(cell);
        let has_ratio = cell["label"] != "inner" && is_whole(cell) && is_whole(base);
        assert_eq!(cell["ratio"].is_null(), !has_ratio, "{cell}");
        if cell["metric"] == "throughput" {
            assert_eq!(cell["parameters"]["size"], 4096, "{cell}");
            assert!(cell["ratio"].is_null() || cell["ratio"]["margin"] == 0.07, "{cell}");
        }
    }
    let journal = String::from_utf8(read(&scratch.path("out/journal.jsonl"))).expect("text");
    crate::recompute::check(&journal, &document);
}

#[test]
fn a_network_stands_beside_itself() {
    let scratch = ScratchDirectory::new();
    let (_, run) = measured(
        &scratch,
        &["--network", "a=bridge,b=bridge", "--baseline", "a", "--blocks", "3", "--json"],
    );
    let document = run.json();
    let cells: Vec<(&str, &str)> = list(&document, "cells")
        .iter()
        .filter(|cell| cell["workload"] == "tcp-stream" && cell["metric"] == "throughput")
        .map(|cell| (text(cell, "label"), text(cell, "network")))
        .collect();
    assert_eq!(cells, [("a", "bridge"), ("b", "bridge")]);
    let journal = String::from_utf8(read(&scratch.path("out/journal.jsonl"))).expect("text");
    crate::recompute::check(&journal, &document);
}
