//! `make fidelity`: the lab's networks beside the real ones that they stand for, on engines of its own; writes the table of
//! docs/FIDELITY.md. It measures: on a machine that does anything else its figures are worth nothing.
//!
//! `FIDELITY_PRECISION` (2%) and `FIDELITY_BUDGET` (20m a pair) say how well and how long, `FIDELITY_DURATION` (2s) how long a
//! trial lasts; `FIDELITY_PAIRS` which pairs, by what their names have in them: the others' rows stay, where they are of the same
//! machine.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use support::swarm::Swarm;
use support::{list, text};

/// A network of the lab's, the real one that it stands for, and on how many nodes they are compared.
const PAIRS: [(&str, &str, &str); 7] = [
    ("bridge", "docker:bridge", "1"),
    ("bridge", "docker:bridge+unconfined", "1"),
    ("published", "docker:published", "1"),
    ("macvlan", "docker:macvlan", "1"),
    ("host", "docker:host", "1"),
    ("veth+plain", "docker:none+veth", "1"),
    ("vxlan", "swarm:overlay", "2"),
];

/// Between these lines of the document the table is.
const BEGIN: &str = "<!-- make fidelity -->\n";
const END: &str = "<!-- end -->\n";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FIDELITY.md")
}

/// What a variable says, else this.
fn chosen(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned())
}

#[test]
#[ignore = "it measures for an hour or two on a machine that is idle: make fidelity"]
fn the_lab_beside_the_real_thing_which_make_fidelity_writes() {
    let swarm = Swarm::of(2);
    let wanted = chosen("FIDELITY_PAIRS", "");
    let is_wanted = |lab: &str, real: &str| format!("{lab} {real}").contains(&wanted);
    let wanted_pairs = PAIRS.iter().filter(|(lab, real, _)| is_wanted(lab, real));
    let mut any = false;
    for &(lab, real, nodes) in wanted_pairs {
        let measured = measured(&swarm, lab, real, nodes);
        let rows = ratios(&measured, lab, real);
        assert!(!rows.is_empty(), "{lab} and {real} have ratios: {measured}");
        print!("{}", rows.concat());
        // After every pair: who ends it keeps what there is.
        enter(&machine(&measured), lab, real, &rows);
        any = true;
    }
    assert!(any, "FIDELITY_PAIRS={wanted} names none of {PAIRS:?}");
}

/// Puts a pair's rows into the table in the document, in the place of those that it had; rows of another machine go.
fn enter(machine: &str, lab: &str, real: &str, rows: &[String]) {
    let path = document();
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = text.split_once(BEGIN).expect("it has a place for the table");
    let (table, after) = rest.split_once(END).expect("the place has an end");
    let of = |lab: &str, real: &str| -> String {
        let is_its = |line: &&str| line.starts_with(&format!("| {lab} | {real} |"));
        table.split_inclusive('\n').filter(is_its).collect()
    };
    let all = PAIRS.iter().map(|&(one, other, _)| {
        if (one, other) == (lab, real) {
            rows.concat()
        } else if table.starts_with(machine) {
            of(one, other)
        } else {
            String::new()
        }
    });
    let all: String = all.collect();
    let document = format!("{before}{BEGIN}{machine}\n{HEAD}{all}{END}{after}");
    std::fs::write(path, document).expect("it can be written");
}

const HEAD: &str = "| lab | real | figure | lab / real | 95 % interval | within 5 %? | pairs |\n\
                    |---|---|---|---|---|---|---|\n";

/// One pair in a run of its own, in which both are measured in turn.
fn measured(swarm: &Swarm, lab: &str, real: &str, nodes: &str) -> Value {
    let directory = swarm.engine(0).scratch().path("fidelity");
    let _ = std::fs::remove_dir_all(&directory);
    let out = directory.to_str().expect("a plain path");
    let (precision, budget) =
        (chosen("FIDELITY_PRECISION", "2%"), chosen("FIDELITY_BUDGET", "20m"));
    let networks = format!("{lab},{real}");
    let which = ["run", "--network", &networks, "--baseline", real, "--nodes", nodes];
    let what =
        ["--workload", "tcp-stream,tcp-rr", "--metric", "throughput,transactions,latency_p50"];
    // What trials differ by does not shrink with their length: many short ones tell more than a few long ones.
    let duration = chosen("FIDELITY_DURATION", "2s");
    let long = ["--precision", &precision, "--budget", &budget, "--duration", &duration];
    let how = ["--margin", "5%", "--json", "--out", out];
    let asked = [&which[..], &what, &long, &how].concat();
    // What is wired by hand is wired on the engine's own machine.
    if nodes == "1" {
        swarm.engine(0).tare_beside(&asked).expect(0).json()
    } else {
        swarm.run(&asked).expect(0).json()
    }
}

/// The rows of a run: every ratio of the lab's to the real one.
fn ratios(document: &Value, lab: &str, real: &str) -> Vec<String> {
    let cells = list(document, "cells").iter();
    let own = cells.filter(|cell| text(cell, "label") == lab && cell["ratio"].is_object());
    own.map(|cell| {
        let ratio = &cell["ratio"];
        let (value, interval) = (&ratio["value"], list(ratio, "ci95"));
        let figure =
            |value: &Value| value.as_f64().map_or("?".to_owned(), |one| format!("{one:.3}"));
        let ends: Vec<String> = interval.iter().map(figure).collect();
        let mut row = String::new();
        writeln!(
            row,
            "| {lab} | {real} | {}, {} | {} | {} | {} | {} |",
            text(cell, "workload"),
            text(cell, "metric"),
            figure(value),
            ends.join(" – "),
            text(ratio, "verdict"),
            ratio["pairs"],
        )
        .expect("a string takes everything");
        row
    })
    .collect()
}

/// On what it was measured.
fn machine(document: &Value) -> String {
    let of = &document["environment"];
    let engine = &list(of, "engines")[0];
    format!(
        "{}, Linux {}, Docker Engine {}; tare {}.\n",
        text(of, "cpu"),
        text(of, "kernel"),
        text(engine, "version"),
        text(document, "tare"),
    )
}
