//! Start of containers that publish 1, 8 and 32 ports, with each firewall of Docker Engine 29.

use super::machine;
use super::table::Table;
use serde_json::Value;
use support::engine::release::{Engine29, Firewall, Iptables, Nftables};
use support::{list, text};

/// Numbers of published ports: one of the workload, and further ones.
const PORTS: [u16; 3] = [1, 8, 32];

/// Containers that each setup starts: a client, and the server that publishes the ports.
const TABLE: Table = Table {
    begin: "<!-- make fidelity: start -->\n",
    head: "| firewall | published ports | `raise_ms` | beside one port | blocks |\n|---|---|---|---|---|\n",
};

/// Returns the spelling of a network whose server publishes this number of ports.
fn network(ports: u16) -> String {
    match ports - 1 {
        0 => "docker:published".to_owned(),
        further => format!("docker:published+ports={further}"),
    }
}

#[test]
#[ignore = "it measures for minutes on a machine that is idle: make fidelity"]
fn containers_with_published_ports_start_in_a_time_that_make_fidelity_writes() {
    write::<Iptables>();
    write::<Nftables>();
}

/// Measures the start with a firewall, and writes its rows.
fn write<F: Firewall>() {
    let engine = Engine29::<F>::with(&[]);
    let out = engine.scratch().path("starts");
    let networks = PORTS.map(network).join(",");
    let which = ["run", "--network", &networks, "--baseline", "docker:published"];
    let what = ["--workload", "tcp-rr", "--duration", "200ms"];
    let long = ["--slice", "off", "--blocks", "10", "--metric", "raise_ms", "--json"];
    let asked = [&which[..], &what, &long, &["--out", out.to_str().expect("a plain path")]];
    let document = engine.tare_beside(&asked.concat()).expect(0).json();
    let row = format!("| {} |", F::NAME);
    let rows: String =
        PORTS.iter().map(|&ports| format!("{row} {}", start(&document, ports))).collect();
    print!("{rows}");
    let order = [Iptables::NAME, Nftables::NAME].map(|name| format!("| {name} |"));
    TABLE.write(&machine(&document), &order, &row, &rows);
}

/// Formats the rest of a row: the start of the containers of one network.
fn start(document: &Value, ports: u16) -> String {
    let is_its =
        |cell: &&Value| text(cell, "label") == network(ports) && text(cell, "metric") == "raise_ms";
    let cell = list(document, "cells").iter().find(is_its).expect("a cell");
    let figure = |value: &Value| value.as_f64().map_or("?".to_owned(), |one| format!("{one:.0}"));
    let ratio = cell["ratio"]["value"].as_f64();
    let ratio = ratio.map_or("baseline".to_owned(), |ratio| format!("{ratio:.2} ×"));
    let ends: Vec<String> = list(cell, "ci95").iter().map(figure).collect();
    let blocks = list(cell, "blocks").len();
    format!(
        "{ports} | {} ms ({}) | {ratio} | {blocks} |\n",
        figure(&cell["mean"]),
        ends.join(" – ")
    )
}
