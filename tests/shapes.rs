//! The studies' set-ups as shapes: many clients, many servers, many processes in a client; what each of them got, how
//! evenly, and what a run says that is too large for a network or for the machine.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use support::program::{Tare, User};
use support::scratch::Scratch;
use support::{list, short_run, text};

/// How far two sums of the same floating-point numbers may differ.
const ROUNDING: f64 = 1e-9;

fn measured(arguments: &[&str]) -> Value {
    let scratch = Scratch::new();
    let arguments = [arguments, &["--json", "--out", "out"]].concat();
    Tare::in_directory(scratch.root()).run(&short_run(&arguments)).expect(0).json()
}

/// The cells of one metric that this holds for.
fn cells<'a>(document: &'a Value, metric: &str, of: impl Fn(&Value) -> bool) -> Vec<&'a Value> {
    list(document, "cells").iter().filter(|cell| cell["metric"] == metric && of(cell)).collect()
}

fn is_clients(cell: &Value) -> bool {
    text(cell, "scope").starts_with("client:")
}

fn samples(cell: &Value) -> Vec<f64> {
    list(cell, "samples").iter().map(|sample| sample.as_f64().unwrap()).collect()
}

/// Jain's index, as his report has it.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

#[test]
fn clients_add_up_to_the_aggregate_and_their_fairness_is_jains_in_every_shape() {
    let document = measured(&[
        "--network",
        "veth,bridge-plain",
        "--workload",
        "tcp-stream,tcp-rr",
        "--clients",
        "1,2,5",
        "--blocks",
        "2",
    ]);
    for (workload, metric) in [("tcp-stream", "throughput"), ("tcp-rr", "transactions")] {
        for network in ["veth", "bridge-plain"] {
            for clients in [1u64, 2, 5] {
                let here = |cell: &Value| {
                    cell["network"] == network
                        && cell["workload"] == workload
                        && cell["shape"]["clients"] == clients
                };
                let told = format!("{workload} over {network}, {clients} clients");
                let of_scope = |scope: &'static str| {
                    cells(&document, metric, move |cell| here(cell) && cell["scope"] == scope)
                };
                let each = cells(&document, metric, |cell| here(cell) && is_clients(cell));
                let aggregate = samples(of_scope("aggregate")[0]);
                assert_eq!(aggregate.len(), 2, "{told}");
                if clients == 1 {
                    assert!(each.is_empty() && of_scope("fairness").is_empty(), "{told}");
                    continue;
                }
                let scopes: BTreeSet<&str> = each.iter().map(|cell| text(cell, "scope")).collect();
                assert_eq!(scopes.len() as u64, clients, "{told}: {scopes:?}");
                let fairness = samples(of_scope("fairness")[0]);
                for (block, (all, index)) in aggregate.iter().zip(&fairness).enumerate() {
                    let shares: Vec<f64> = each.iter().map(|cell| samples(cell)[block]).collect();
                    // In a trial as short as these a busy machine may give one of them no turn.
                    assert!(shares.iter().all(|share| *share >= 0.0), "{told}: {shares:?}");
                    let sum: f64 = shares.iter().sum();
                    assert!(sum > 0.0, "{told}: {shares:?}");
                    assert!((sum / all - 1.0).abs() < ROUNDING, "{told}: {sum} is not {all}");
                    assert!((jain(&shares) - index).abs() < ROUNDING, "{told}: {index}");
                }
            }
        }
    }
}

#[test]
fn a_client_talks_to_the_server_of_its_number() {
    // Two servers, five clients: what each server took is the sum of what its own clients have.
    let document = measured(&[
        "--network",
        "bridge-plain",
        "--workload",
        "tcp-stream,udp-rate",
        "--servers",
        "2",
        "--clients",
        "5",
        "--blocks",
        "1",
    ]);
    for workload in ["tcp-stream", "udp-rate"] {
        let each =
            cells(&document, "throughput", |cell| is_clients(cell) && cell["workload"] == workload);
        assert_eq!(each.len(), 5, "{workload}");
        assert!(each.iter().all(|cell| cell["mean"].as_f64() > Some(0.0)), "{workload}: {each:?}");
    }
    assert_eq!(list(&document, "failed"), [] as [Value; 0]);
}

#[test]
fn processes_of_a_client_share_its_load() {
    const MEGABITS: f64 = 8.0;
    let document = measured(&[
        "--network",
        "bridge-plain",
        "--workload",
        "udp-rate,tcp-rr",
        "--rate",
        "8mbit",
        "--open-loop",
        "600",
        "--metric",
        "offered,transactions",
        "--clients",
        "2",
        "--processes",
        "1,3",
        "--flows",
        "2",
        "--blocks",
        "1",
    ]);
    for processes in [1, 3] {
        let here = |cell: &Value| is_clients(cell) && cell["shape"]["processes"] == processes;
        let offered = cells(&document, "offered", here);
        let begun = cells(&document, "transactions", here);
        assert_eq!((offered.len(), begun.len()), (2, 2), "clients, not processes");
        for (cell, most) in offered
            .iter()
            .map(|cell| (cell, MEGABITS / 1e3))
            .chain(begun.iter().map(|cell| (cell, 600.0)))
        {
            // A busy machine may do less; an interval of 10 ms holds a datagram or transaction more or less.
            let mean = cell["mean"].as_f64().unwrap();
            assert!(mean > 0.0 && mean < 1.5 * most, "{processes} processes: {mean} of {most}");
        }
    }
}

#[test]
fn what_is_swept_is_shown_as_curves() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let arguments = [
        "--network",
        "host,bridge-plain",
        "--workload",
        "tcp-rr",
        "--clients",
        "1,2,3",
        "--blocks",
        "2",
        "--out",
        "out",
    ];
    let table = tare.run(&short_run(&arguments)).expect(0).text();
    let curve = table.split("tcp-rr transactions by clients").nth(1).expect("a curve");
    let row = |name: &str| {
        let line = curve.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("{name} is not in {curve}")).matches('±').count()
    };
    assert_eq!((row("host"), row("bridge-plain")), (3, 3), "{table}");
    assert!(table.contains("how 3 clients shared") && table.contains("fairness"), "{table}");
    let csv = std::fs::read_to_string(scratch.path("out/result.csv")).unwrap();
    let scopes: BTreeSet<&str> = csv.lines().filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(
        scopes,
        ["scope", "aggregate", "fairness", "client:0", "client:1", "client:2"].into()
    );
}

/// The first start of every client's intervals, ns, by the journal.
fn beginnings(journal: &str) -> Vec<Vec<u64>> {
    let first = |series: &Value| list(series, "intervals")[0]["start"].as_u64().unwrap();
    journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["record"] == "trial")
        .map(|trial| list(&trial, "series").iter().map(first).collect())
        .collect()
}

#[test]
fn clients_begin_by_one_clock() {
    let scratch = Scratch::new();
    let arguments = [
        "--network",
        "bridge-plain",
        "--workload",
        "tcp-stream,udp-rate,tcp-rr,tcp-crr",
        "--clients",
        "8",
        "--blocks",
        "1",
        "--out",
        "out",
    ];
    Tare::in_directory(scratch.root()).run(&short_run(&arguments)).expect(0);
    let journal = std::fs::read_to_string(scratch.path("out/journal.jsonl")).unwrap();
    let trials = beginnings(&journal);
    assert_eq!(trials.len(), 4, "{journal}");
    for starts in trials {
        assert_eq!((starts.len(), starts.iter().min()), (8, Some(&0)), "{starts:?}");
        // By a clock of its own each would begin at nought.
        assert!(starts.iter().any(|start| *start > 0), "{starts:?}");
    }
}

#[test]
fn two_hundred_containers_are_served_by_few_processes() {
    for &user in User::all() {
        let scratch = Scratch::new();
        let tare = Tare::copied(&scratch, user);
        let arguments = [
            "--network",
            "bridge-plain",
            "--workload",
            "tcp-rr",
            "--clients",
            "199",
            "--blocks",
            "1",
            "--json",
            "--out",
            "out",
            "--duration",
            "300ms",
            "--interval",
            "10ms",
        ];
        let mut running = tare.start(&[&["run"], &arguments[..]].concat());
        let (mut most, mut agents) = (0, BTreeSet::new());
        while running.is_running() {
            let now = processes(&tare);
            most = most.max(now.len());
            agents.extend(now.into_iter().filter(|(_, words)| words.contains("--namespaces")));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let document = running.wait().expect(0).json();
        let cores = std::thread::available_parallelism().unwrap().get();
        // tare itself, its keeper, and a moment in which a child is still a copy of tare.
        assert!(most <= 2 * cores + 3, "{most} processes");
        assert!((2..=2 * cores).contains(&agents.len()), "{agents:?}");
        let each = cells(&document, "transactions", is_clients);
        assert_eq!(each.len(), 199);
        assert!(each.iter().all(|cell| cell["mean"].as_f64() > Some(0.0)), "all had traffic");
    }
}

/// The processes of this copy of tare, with their arguments.
fn processes(tare: &Tare) -> BTreeMap<u32, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let is_ours =
            std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == tare.program());
        if is_ours {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.insert(pid, String::from_utf8_lossy(&words).replace('\0', " "));
        }
    }
    found
}

#[test]
fn what_has_no_room_is_said_before_anything_is_raised() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    // 1,024 containers on a bridge of 1,023 ports; the other network is measured in no shape but this one either.
    let arguments = ["--network", "bridge", "--clients", "1,1023", "--blocks", "1", "--json"];
    let document = tare.run(&short_run(&arguments)).expect(1).json();
    let skipped = list(&document, "skipped");
    assert_eq!((skipped.len(), list(&document, "cells").len()), (1, 0));
    assert!(text(&skipped[0], "reason").contains("1023 ports, 1024 are needed"), "{skipped:?}");
    assert!(text(&skipped[0], "remedy").contains("bridge-plain"), "{skipped:?}");
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
fn what_would_take_the_hosts_half_is_refused_and_told_how_to_insist() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    // Twenty million processes with a connection each are more than any kernel counts.
    let arguments =
        ["--network", "bridge-plain", "--clients", "2000", "--processes", "10000", "--out", "out"];
    let outcome = tare.run(&short_run(&arguments));
    outcome.complains(1, &["2001 containers do not fit", "half", "raise the sysctl", "--force"]);
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
fn how_long_a_network_takes_to_come_up_is_measured_without_traffic() {
    let document =
        measured(&["--network", "loopback,bridge-plain", "--metric", "raise_ms", "--blocks", "2"]);
    assert_eq!(document["blocks"], 2);
    let all = cells(&document, "raise_ms", |_| true);
    assert_eq!((all.len(), list(&document, "cells").len()), (2, 2), "nothing else was asked for");
    assert!(
        all.iter().all(|cell| samples(cell).len() == 2 && samples(cell).iter().all(|ms| *ms > 0.0))
    );
}
