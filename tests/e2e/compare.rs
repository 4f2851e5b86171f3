//! Tests of `tare compare`: comparisons of runs, and their results for a build server. The runs' journals are rewritten
//! to known rates; `measures` compares measured rates.

use serde_json::Value;
use support::journal::{rewrite, set_rate};
use support::program::Tare;
use support::{ScratchDirectory, list, schema, text};

/// Runs these networks, with results in a directory.
fn measure(tare: &Tare, directory: &str, networks: &str, blocks: &str) {
    let asked =
        ["run", "--network", networks, "--workload", "tcp-stream", "--metric", "throughput"];
    let how = ["--duration", "200ms", "--interval", "10ms", "--blocks", blocks];
    tare.run(&[&asked[..], &how, &["--out", directory]].concat()).expect(0);
}

/// Sets the rate of every trial of a run, bit/s, 1 % higher in every second block.
fn make_known(scratch: &ScratchDirectory, directory: &str, rate: f64) {
    rewrite(&scratch.path(directory), |trial| {
        let odd = trial["block"].as_u64().expect("a number") % 2 == 1;
        set_rate(trial, if odd { rate * 1.01 } else { rate });
    });
}

/// Makes a run with a known rate.
fn run(scratch: &ScratchDirectory, directory: &str, network: &str, blocks: &str, rate: f64) {
    measure(&Tare::in_directory(scratch.root()), directory, network, blocks);
    make_known(scratch, directory, rate);
}

const FAST: &str = "x=bridge+rate=200mbit";
const SLOW: &str = "x=bridge+rate=140mbit";

#[test]
fn a_planted_regression_is_found_and_the_build_server_is_told() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    run(&scratch, "base", FAST, "4", 200e6);
    run(&scratch, "new", SLOW, "4", 140e6);
    let sides = ["compare", "base", "new", "--fail-on", "10%"];
    let outcome = tare.run(&[&sides[..], &["--json", "--junit", "out.xml"]].concat()).expect(3);
    let comparison = outcome.json();
    schema::check(&comparison, "compare.json");
    let cells = list(&comparison, "cells");
    assert_eq!(cells.len(), 1, "{comparison}");
    let change = &cells[0]["change"];
    let ratio = change["value"].as_f64().expect("a ratio");
    assert!((ratio - 0.7).abs() < 1e-6, "{change}");
    let lower = change["regression"]["lower"].as_f64().expect("a bound");
    assert!((0.1..0.3).contains(&lower), "{change}");
    assert_eq!((text(&cells[0], "outcome"), text(&comparison, "unit")), ("regression", "block"));
    let junit = std::fs::read_to_string(scratch.path("out.xml")).expect("it was written");
    assert!(
        junit.contains("<testsuite name=\"tare compare\" tests=\"1\" failures=\"1\""),
        "{junit}"
    );
    assert!(junit.contains("name=\"x tcp-stream throughput\"><failure "), "{junit}");
    // The planted change is the only difference, and it was not declared as intended.
    let network = difference(&comparison, "network:x");
    assert_eq!(network["intended"], false, "{network}");
    let told = tare.run(&["compare", "base", "new", "--vary", "network"]).expect(0).text();
    assert!(told.contains("intended: network:x: base bridge+rate=200mbit; new"), "{told}");
    assert!(told.contains("one run on each side"), "{told}");
    // In the other direction it is no regression, and without a limit the comparison does not fail.
    tare.run(&["compare", "new", "base", "--fail-on", "10%"]).expect(0);
    // A limit above the change lets it pass.
    tare.run(&["compare", "base", "new", "--fail-on", "40%"]).expect(0);
    let markdown = tare.run(&["compare", "base", "new", "--markdown"]).expect(0).text();
    assert!(markdown.contains("| x tcp-stream throughput |"), "{markdown}");
}

fn difference(comparison: &Value, what: &str) -> Value {
    let found = list(comparison, "differences").iter().find(|one| one["what"] == what);
    found.unwrap_or_else(|| panic!("{what} is not told: {comparison}")).clone()
}

#[test]
fn several_runs_a_side_count_once_each() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let (base, new) = (["a1", "a2", "a3"], ["b1", "b2", "b3"]);
    for (names, network, rate) in [(base, FAST, 200e6), (new, SLOW, 140e6)] {
        for (name, share) in names.into_iter().zip([0.99, 1.0, 1.01]) {
            run(&scratch, name, network, "2", share * rate);
        }
    }
    let sides = [&["compare", "--base"], &base[..], &["--new"], &new[..]].concat();
    let judged = [&sides[..], &["--fail-on", "10%", "--json"]].concat();
    let comparison = tare.run(&judged).expect(3).json();
    schema::check(&comparison, "compare.json");
    assert_eq!(comparison["unit"], "session");
    let cell = &list(&comparison, "cells")[0];
    assert_eq!((&cell["base"]["n"], &cell["new"]["n"]), (&3.into(), &3.into()));
    let ratio = cell["change"]["value"].as_f64().expect("a ratio");
    assert!((ratio - 0.7).abs() < 1e-6, "{cell}");
    assert_eq!(list(&comparison, "base").len(), 3);
}

#[test]
fn what_cannot_be_told_is_neither_a_pass_nor_a_failure() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    run(&scratch, "two", &format!("{FAST},y=bridge+rate=200mbit"), "2", 200e6);
    run(&scratch, "one", FAST, "1", 200e6);
    // One cell is missing, and the remaining one has a single block.
    let outcome = tare.run(&["compare", "two", "one", "--fail-on", "5%", "--junit", "-"]).expect(4);
    let junit = outcome.text();
    assert!(junit.contains("tests=\"2\" failures=\"0\" errors=\"2\""), "{junit}");
    assert!(
        junit.contains("y tcp-stream throughput") && junit.contains("the new side has no figure"),
        "{junit}"
    );
    let told = tare.run(&["compare", "one", "one", "--fail-on", "5%"]).expect(4).text();
    assert!(told.contains("measure more blocks"), "{told}");
    tare.run(&["compare", "two"]).assert_error(2, &["BASE and NEW"]);
    tare.run(&["compare", "two", "nowhere"]).assert_error(2, &["nowhere"]);
    tare.run(&["compare", "two", "one", "--vary", "moon"])
        .assert_error(2, &["--vary", "unknown difference `moon`"]);
}

#[test]
fn a_run_beside_itself_has_not_changed() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    run(&scratch, "out", FAST, "3", 200e6);
    let comparison =
        tare.run(&["compare", "out", "out", "--fail-on", "50%", "--json"]).expect(0).json();
    let cell = &list(&comparison, "cells")[0];
    assert_eq!((&cell["change"]["value"], &cell["outcome"]), (&1.0.into(), &"passed".into()));
    assert_eq!(list(&comparison, "differences"), &[] as &[Value]);
}
