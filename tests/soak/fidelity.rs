//! `make fidelity`: the lab's networks beside the real ones that they stand for, on engines of its own; writes the table of
//! docs/FIDELITY.md. It measures: on a machine that does anything else its figures are worth nothing.
//!
//! `FIDELITY_PRECISION` (2%) and `FIDELITY_BUDGET` (20m a pair) say how well and how long, `FIDELITY_DURATION` (2s) how long a
//! trial lasts; `FIDELITY_PAIRS` which pairs, by what their names have in them: the others' rows stay, where they are of the same
//! machine.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use support::engine::Engine;
use support::swarm::Swarm;
use support::{list, text};

/// Place where a pair is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// On an engine's own machine.
    OneMachine,
    /// Between two of a Swarm's.
    TwoMachines,
    /// On the machine of an engine that writes no rules.
    NoRules,
}

/// A network of the lab's, and the real one that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    lab: &'static str,
    real: &'static str,
    on: On,
}

impl Pair {
    const fn new(lab: &'static str, real: &'static str, on: On) -> Self {
        Self { lab, real, on }
    }

    /// Begin of a row of the table.
    fn row(&self) -> String {
        let how = if self.on == On::NoRules { ", `--iptables=false`" } else { "" };
        format!("| {} | {}{how} |", self.lab, self.real)
    }
}

const PAIRS: [Pair; 8] = [
    Pair::new("bridge", "docker:bridge", On::OneMachine),
    Pair::new("bridge", "docker:bridge+unconfined", On::OneMachine),
    Pair::new("bridge-plain", "docker:bridge+unconfined", On::NoRules),
    Pair::new("published", "docker:published", On::OneMachine),
    Pair::new("macvlan", "docker:macvlan", On::OneMachine),
    Pair::new("host", "docker:host", On::OneMachine),
    Pair::new("veth+plain", "docker:none+veth", On::OneMachine),
    Pair::new("vxlan", "swarm:overlay", On::TwoMachines),
];

/// Between these lines of the document the table is.
const BEGIN: &str = "<!-- make fidelity -->\n";
const END: &str = "<!-- end -->\n";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/FIDELITY.md")
}

/// Value of a variable, else this.
fn chosen(variable: &str, otherwise: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned())
}

#[test]
#[ignore = "it measures for an hour or two on a machine that is idle: make fidelity"]
fn the_lab_beside_the_real_thing_which_make_fidelity_writes() {
    let wanted = chosen("FIDELITY_PAIRS", "");
    let wanted: Vec<Pair> = PAIRS.into_iter().filter(|pair| pair.row().contains(&wanted)).collect();
    assert!(!wanted.is_empty(), "FIDELITY_PAIRS names none of {PAIRS:?}");
    let swarm = Swarm::of(2);
    for pair in wanted {
        let measured = measured(&swarm, pair);
        let rows = ratios(&measured, pair);
        assert!(!rows.is_empty(), "{pair:?} has ratios: {measured}");
        print!("{}", rows.concat());
        // After every pair: who ends it keeps what there is.
        enter(&machine(&measured), pair, &rows);
    }
}

/// Puts a pair's rows into the table in the document, in the place of those that it had; rows of another machine go.
fn enter(machine: &str, measured: Pair, rows: &[String]) {
    let path = document();
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = text.split_once(BEGIN).expect("it has a place for the table");
    let (table, after) = rest.split_once(END).expect("the place has an end");
    let kept = |pair: Pair| -> String {
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

/// One pair in a run of its own, in which both are measured in turn.
fn measured(swarm: &Swarm, pair: Pair) -> Value {
    let Pair { lab, real, on } = pair;
    let nodes = if on == On::TwoMachines { "2" } else { "1" };
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
    let outcome = match on {
        On::OneMachine => swarm.engine(0).tare_beside(&asked),
        On::TwoMachines => swarm.run(&asked),
        On::NoRules => {
            Engine::prepared(NO_RULES_FOR_BRIDGES, &["--iptables=false"]).tare_beside(&asked)
        }
    };
    outcome.expect(0).json()
}

/// Bridges ask no rules: a namespace has it switched on, and an engine without rules leaves it so.
const NO_RULES_FOR_BRIDGES: &str = "echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables";

/// The rows of a run: every ratio of the lab's to the real one.
fn ratios(document: &Value, pair: Pair) -> Vec<String> {
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

/// Machine on which a document was measured.
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
