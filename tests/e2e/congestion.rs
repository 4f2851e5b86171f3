//! Test of the congestion control of a run: one for all networks, whatever the namespace's own is.

use serde_json::Value;
use std::fs;
use support::program::Tare;
use support::{ScratchDirectory, list, text};
use tare_dev::TestNamespace;

/// Returns a control that any namespace may have, `bbr` if the kernel allows it.
fn own_control() -> &'static str {
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    if allowed.split_whitespace().any(|one| one == "bbr") { "bbr" } else { "reno" }
}

/// Runs TCP workloads over the namespace itself, and returns the document.
fn run(tare: &Tare, namespace: &TestNamespace, asked: &[&str]) -> Value {
    let workloads = "tcp-stream,tcp-rr,tcp-crr";
    let short = [
        "run",
        "-n",
        "native",
        "-w",
        workloads,
        "-d",
        "500ms",
        "--interval",
        "50ms",
        "-b",
        "1",
        "--json",
    ];
    tare.start_inside(namespace, &[&short[..], asked].concat()).wait().expect(0).json()
}

/// Returns the controls in force in all cells.
fn controls(document: &Value) -> Vec<&str> {
    let mut all: Vec<&str> = list(document, "cells")
        .iter()
        .map(|cell| text(&cell["parameters"], "congestion"))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_run_has_one_control_that_does_not_pace_unless_the_host_s_is_asked_for() {
    let namespace = TestNamespace::new();
    let own = own_control();
    namespace.run("ip link set lo up");
    namespace.run(&format!("sysctl -q -w net.ipv4.tcp_congestion_control={own}"));
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let document = run(&tare, &namespace, &["--out", "usual"]);
    let used = controls(&document);
    assert!(used == ["cubic"] || used == ["reno"], "{used:?}");
    let noted = |document: &Value| {
        list(document, "findings").iter().any(|finding| finding["kind"] == "host-congestion")
    };
    assert_eq!(noted(&document), used != [own], "the first note says that the host has another");
    let system = run(&tare, &namespace, &["--out", "system", "--congestion", "system"]);
    assert_eq!((controls(&system), noted(&system)), (vec![own], false));
    let reno = run(&tare, &namespace, &["--out", "reno", "--congestion", "reno"]);
    assert_eq!(controls(&reno), ["reno"]);
}
