//! `make fidelity`: compares the lab's networks with the real ones that they stand for, on engines of its own, and
//! writes the table of docs/FIDELITY.md. It needs an otherwise idle machine.
//!
//! `FIDELITY_PRECISION` (2%) and `FIDELITY_BUDGET` (20m a pair) set the precision and the time limit,
//! `FIDELITY_DURATION` (2s) the duration of a trial. `FIDELITY_PAIRS` selects pairs by parts of their names. The rows
//! of other pairs are kept, if they were measured on the same machine.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use support::engine::Engine;
use support::swarm::Swarm;
use support::{list, text};

/// Machines on which a pair is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineSetup {
    /// Machine of one engine.
    OneMachine,
    /// Two machines of a Swarm.
    TwoMachines,
    /// Machine of an engine that writes no rules.
    NoRules,
}

/// Network of the lab, and the real one that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FidelityPair {
    lab: &'static str,
    real: &'static str,
    on: EngineSetup,
}

impl FidelityPair {
    const fn new(lab: &'static str, real: &'static str, on: EngineSetup) -> Self {
        Self { lab, real, on }
    }

    /// Returns the beginning of a row of the table.
    fn row(&self) -> String {
        let how = if self.on == EngineSetup::NoRules { ", `--iptables=false`" } else { "" };
        format!("| {} | {}{how} |", self.lab, self.real)
    }
}

const PAIRS: [FidelityPair; 8] = [
    FidelityPair::new("bridge", "docker:bridge", EngineSetup::OneMachine),
    FidelityPair::new("bridge", "docker:bridge+unconfined", EngineSetup::OneMachine),
    FidelityPair::new("bridge-plain", "docker:bridge+unconfined", EngineSetup::NoRules),
    FidelityPair::new("published", "docker:published", EngineSetup::OneMachine),
    FidelityPair::new("macvlan", "docker:macvlan", EngineSetup::OneMachine),
    FidelityPair::new("host", "docker:host", EngineSetup::OneMachine),
    FidelityPair::new("veth+plain", "docker:none+veth", EngineSetup::OneMachine),
    FidelityPair::new("vxlan", "swarm:overlay", EngineSetup::TwoMachines),
];

/// Markers around the table in the document.
const BEGIN: &str = "<!-- make fidelity -->\n";
const END: &str = "<!-- end -->\n";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/FIDELITY.md")
}

/// Returns the value of a variable, or a default.
fn variable_or(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned())
}

#[test]
#[ignore = "it measures for an hour or two on a machine that is idle: make fidelity"]
fn the_lab_beside_the_real_thing_which_make_fidelity_writes() {
    let wanted = variable_or("FIDELITY_PAIRS", "");
    let wanted: Vec<FidelityPair> =
        PAIRS.into_iter().filter(|pair| pair.row().contains(&wanted)).collect();
    assert!(!wanted.is_empty(), "FIDELITY_PAIRS names none of {PAIRS:?}");
    let swarm = Swarm::with_nodes(2);
    for pair in wanted {
        let measured = measured(&swarm, pair);
        let rows = ratios(&measured, pair);
        assert!(!rows.is_empty(), "{pair:?} has ratios: {measured}");
        print!("{}", rows.concat());
        // After every pair, so that an interrupted run keeps its results.
        write_rows(&machine(&measured), pair, &rows);
    }
}

/// Replaces a pair's rows in the table of the document. Rows of another machine are removed.
fn write_rows(machine: &str, measured: FidelityPair, rows: &[String]) {
    let path = document();
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = text.split_once(BEGIN).expect("it has a place for the table");
    let (table, after) = rest.split_once(END).expect("the place has an end");
    let kept = |pair: FidelityPair| -> String {
        table.split_inclusive('\n').filter(|line| line.starts_with(&pair.row())).collect()
    };
    let all = PAIRS.into_iter().map(|pair| {
        if pair == measured {
            rows.concat()
        } else if table.starts_with(machine) {
            kept(pair)
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

/// Measures one pair, in turn, in a run of its own.
fn measured(swarm: &Swarm, pair: FidelityPair) -> Value {
    let FidelityPair { lab, real, on } = pair;
    let nodes = if on == EngineSetup::TwoMachines { "2" } else { "1" };
    let directory = swarm.engine(0).scratch().path("fidelity");
    let _ = std::fs::remove_dir_all(&directory);
    let out = directory.to_str().expect("a plain path");
    let (precision, budget) =
        (variable_or("FIDELITY_PRECISION", "2%"), variable_or("FIDELITY_BUDGET", "20m"));
    let networks = format!("{lab},{real}");
    let which = ["run", "--network", &networks, "--baseline", real, "--nodes", nodes];
    let what =
        ["--workload", "tcp-stream,tcp-rr", "--metric", "throughput,transactions,latency_p50"];
    // Differences between trials do not shrink with their duration: many short trials are more precise than a few long
    // ones.
    let duration = variable_or("FIDELITY_DURATION", "2s");
    let long = ["--precision", &precision, "--budget", &budget, "--duration", &duration];
    let how = ["--margin", "5%", "--json", "--out", out];
    let asked = [&which[..], &what, &long, &how].concat();
    // Networks that tare wires itself must be measured on the engine's own machine.
    let outcome = match on {
        EngineSetup::OneMachine => swarm.engine(0).tare_beside(&asked),
        EngineSetup::TwoMachines => swarm.run(&asked),
        EngineSetup::NoRules => {
            Engine::prepared(NO_RULES_FOR_BRIDGES, &["--iptables=false"]).tare_beside(&asked)
        }
    };
    outcome.expect(0).json()
}

/// Disables iptables for bridges: it is on in a new namespace, and an engine without rules does not change it.
const NO_RULES_FOR_BRIDGES: &str = "echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables";

/// Formats the rows of a run: every ratio of the lab's network to the real one.
fn ratios(document: &Value, pair: FidelityPair) -> Vec<String> {
    let cells = list(document, "cells").iter();
    let own = cells.filter(|cell| text(cell, "label") == pair.lab && cell["ratio"].is_object());
    own.map(|cell| {
        let ratio = &cell["ratio"];
        let (value, interval) = (&ratio["value"], list(ratio, "ci95"));
        let figure =
            |value: &Value| value.as_f64().map_or("?".to_owned(), |one| format!("{one:.3}"));
        let ends: Vec<String> = interval.iter().map(figure).collect();
        let mut row = String::new();
        writeln!(
            row,
            "{} {}, {} | {} | {} | {} | {} |",
            pair.row(),
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

/// Describes the machine on which a document was measured.
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
