//! `make fidelity`: compares the lab's networks with the real ones that they stand for, on engines of its own, and
//! writes the tables of docs/FIDELITY.md. It needs an otherwise idle machine.
//!
//! `FIDELITY_PRECISION` (1.5%) and `FIDELITY_BUDGET` (10m a pair) set the precision and the time limit.
//! `FIDELITY_PAIRS` selects pairs by parts of their rows. The rows of other pairs are kept, if they were measured on the
//! same machine.

mod port_starts;
mod table;

use serde_json::Value;
use std::fmt;
use support::engine::release::{Engine29, Firewall, Iptables, Nftables};
use support::swarm::Swarm;
use support::{list, text};
use table::Table;

/// Engine whose networks are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineSetup {
    /// Engine 29 with iptables.
    Iptables,
    /// Engine 29 with nftables.
    Nftables,
    /// Engine 29 that writes no rules.
    NoRules,
    /// Two engines of Debian 12, which are a Swarm.
    Swarm,
}

impl fmt::Display for EngineSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iptables => "29, iptables",
            Self::Nftables => "29, nftables",
            Self::NoRules => "29, `--iptables=false`",
            Self::Swarm => "20.10, Swarm",
        })
    }
}

/// Network of the lab, and the real one that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FidelityPair {
    engine: EngineSetup,
    lab: &'static str,
    real: &'static str,
}

impl FidelityPair {
    const fn new(engine: EngineSetup, lab: &'static str, real: &'static str) -> Self {
        Self { engine, lab, real }
    }

    /// Returns the beginning of a row of the table.
    fn row(&self) -> String {
        format!("| {} | {} | {} |", self.engine, self.lab, self.real)
    }
}

/// Pairs of the table. Only beside `+unconfined` both sides are without a seccomp profile.
const PAIRS: [FidelityPair; 12] = [
    FidelityPair::new(EngineSetup::Iptables, "bridge", "docker:bridge"),
    FidelityPair::new(EngineSetup::Iptables, "bridge", "docker:bridge+unconfined"),
    FidelityPair::new(EngineSetup::Iptables, "published", "docker:published"),
    FidelityPair::new(EngineSetup::Iptables, "published", "docker:published+unconfined"),
    FidelityPair::new(
        EngineSetup::Nftables,
        "bridge+firewall=nftables",
        "docker:bridge+unconfined",
    ),
    FidelityPair::new(
        EngineSetup::Nftables,
        "published+firewall=nftables",
        "docker:published+unconfined",
    ),
    FidelityPair::new(EngineSetup::NoRules, "bridge-plain", "docker:bridge+unconfined"),
    FidelityPair::new(EngineSetup::Iptables, "macvlan", "docker:macvlan+unconfined"),
    FidelityPair::new(EngineSetup::Iptables, "host", "docker:host"),
    FidelityPair::new(EngineSetup::NoRules, "host", "docker:host+unconfined"),
    FidelityPair::new(EngineSetup::Iptables, "veth+plain", "docker:none+veth"),
    FidelityPair::new(EngineSetup::Swarm, "vxlan", "swarm:overlay"),
];

const TABLE: Table = Table {
    begin: "<!-- make fidelity -->\n",
    head: "| engine | lab | real | figure | lab / real | 95 % interval | within 3 %? | pairs |\n\
           |---|---|---|---|---|---|---|---|\n",
};

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
    for pair in wanted {
        let measured = measured(pair);
        let rows = ratios(&measured, pair);
        assert!(!rows.is_empty(), "{pair:?} has ratios: {measured}");
        print!("{}", rows.concat());
        // After every pair, so that an interrupted run keeps its results.
        let order: Vec<String> = PAIRS.iter().map(FidelityPair::row).collect();
        TABLE.write(&machine(&measured), &order, &pair.row(), &rows.concat());
    }
}

/// Measures one pair, in one run, on an engine of its own.
fn measured(pair: FidelityPair) -> Value {
    match pair.engine {
        EngineSetup::Iptables => beside(&Engine29::<Iptables>::with(&[]), pair),
        EngineSetup::Nftables => beside(&Engine29::<Nftables>::with(&[]), pair),
        EngineSetup::NoRules => {
            let engine = Engine29::<Iptables>::with(&["--iptables=false", "--ip6tables=false"]);
            // It is on in a new namespace, and an engine without rules does not change it.
            engine.shell_output("echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables");
            beside(&engine, pair)
        }
        EngineSetup::Swarm => {
            let swarm = Swarm::with_nodes(2);
            let out = swarm.engine(0).scratch().path("fidelity");
            let asked = arguments(pair, out.to_str().expect("a plain path"));
            swarm.run(&asked.iter().map(String::as_str).collect::<Vec<_>>()).expect(0).json()
        }
    }
}

/// Measures a pair on the engine's own machine: networks that tare wires itself must be measured there too.
fn beside<F: Firewall>(engine: &Engine29<F>, pair: FidelityPair) -> Value {
    let out = engine.scratch().path("fidelity");
    let asked = arguments(pair, out.to_str().expect("a plain path"));
    engine.tare_beside(&asked.iter().map(String::as_str).collect::<Vec<_>>()).expect(0).json()
}

/// Returns the arguments of a run of one pair.
fn arguments(pair: FidelityPair, out: &str) -> Vec<String> {
    let FidelityPair { engine, lab, real } = pair;
    let nodes = if engine == EngineSetup::Swarm { "2" } else { "1" };
    let (precision, budget) =
        (variable_or("FIDELITY_PRECISION", "1.5%"), variable_or("FIDELITY_BUDGET", "10m"));
    let networks = format!("{lab},{real}");
    let which = ["run", "--network", &networks, "--baseline", real, "--nodes", nodes];
    let what =
        ["--workload", "tcp-stream,tcp-rr", "--metric", "throughput,transactions,latency_p50"];
    let long = ["--precision", &precision, "--budget", &budget, "--margin", "3%"];
    let asked = [&which[..], &what, &long, &["--json", "--out", out]].concat();
    asked.into_iter().map(str::to_owned).collect()
}

/// Formats the rows of a run: every ratio of the lab's network to the real one.
fn ratios(document: &Value, pair: FidelityPair) -> Vec<String> {
    let cells = list(document, "cells").iter();
    let own = cells.filter(|cell| text(cell, "label") == pair.lab && cell["ratio"].is_object());
    own.map(|cell| {
        let ratio = &cell["ratio"];
        let figure =
            |value: &Value| value.as_f64().map_or("?".to_owned(), |one| format!("{one:.3}"));
        let ends: Vec<String> = list(ratio, "ci95").iter().map(figure).collect();
        format!(
            "{} {}, {} | {} | {} | {} | {} |\n",
            pair.row(),
            text(cell, "workload"),
            text(cell, "metric"),
            figure(&ratio["value"]),
            ends.join(" – "),
            text(ratio, "verdict"),
            ratio["pairs"],
        )
    })
    .collect()
}

/// Describes the machine on which a document was measured.
fn machine(document: &Value) -> String {
    let of = &document["environment"];
    format!("{}, Linux {}; tare {}.\n", text(of, "cpu"), text(of, "kernel"), text(document, "tare"),)
}
