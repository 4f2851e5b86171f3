//! Tests of the studies' shapes: many clients, many servers, many processes in a client; each client's share, fairness,
//! and the errors of a run that is too large for a network or for the machine.

use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use support::journal::{counter, records, rewrite, sum, trials};
use support::program::{Tare, User};
use support::{ScratchDirectory, eventually, list, short_run, text};

/// Largest difference between two sums of the same floating-point numbers.
const ROUNDING: f64 = 1e-9;

/// Returns the cells of one metric that satisfy a condition.
fn cells<'a>(document: &'a Value, metric: &str, of: impl Fn(&Value) -> bool) -> Vec<&'a Value> {
    list(document, "cells").iter().filter(|cell| cell["metric"] == metric && of(cell)).collect()
}

fn is_clients(cell: &Value) -> bool {
    text(cell, "scope").starts_with("client:")
}

fn samples(cell: &Value) -> Vec<f64> {
    list(cell, "samples").iter().map(|sample| sample.as_f64().unwrap()).collect()
}

/// Returns Jain's index, by the definition in his report.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// Gives the clients of a trial known shares: each has one more part than the client before, in all intervals.
fn share_unevenly(trial: &mut Value) {
    let counted = if trial["workload"] == "tcp-rr" { "operations" } else { "bytes" };
    let clients = trial["series"].as_array_mut().expect("clients").iter_mut();
    for (part, series) in (1u64..).zip(clients) {
        for interval in series["intervals"].as_array_mut().expect("intervals") {
            let length = interval["length"].as_u64().expect("ns");
            interval[counted] = (part * length / 1_000).into();
        }
    }
}

#[test]
fn clients_add_up_to_the_aggregate_and_their_fairness_is_jains_in_every_shape() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["--network", "veth,bridge-plain", "--workload", "tcp-stream,tcp-rr"];
    let how = ["--clients", "1,2,5", "--blocks", "2", "--out", "out"];
    tare.run(&short_run(&[&asked[..], &how].concat())).expect(0);
    // On a busy machine a client of a short trial may not run at all; with known shares there is always an index.
    rewrite(&scratch.path("out"), share_unevenly);
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
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
                assert_eq!(fairness.len(), 2, "{told}");
                for (block, (all, index)) in aggregate.iter().zip(&fairness).enumerate() {
                    let shares: Vec<f64> = each.iter().map(|cell| samples(cell)[block]).collect();
                    let sum: f64 = shares.iter().sum();
                    let uneven = shares.windows(2).all(|pair| pair[0] < pair[1]);
                    assert!(shares[0] > 0.0 && uneven, "{told}: {shares:?}");
                    assert!((sum / all - 1.0).abs() < ROUNDING, "{told}: {sum} is not {all}");
                    assert!((jain(&shares) - index).abs() < ROUNDING, "{told}: {index}");
                }
            }
        }
    }
}

/// Runs a network into the directory `out`, and returns its trials.
fn trials_of(arguments: &[&str]) -> Vec<Value> {
    let scratch = ScratchDirectory::new();
    let arguments = [arguments, &["--network", "bridge-plain", "--blocks", "1", "--out", "out"]];
    Tare::in_directory(scratch.root()).run(&short_run(&arguments.concat())).expect(0);
    trials(&scratch.path("out"))
}

#[test]
fn a_client_talks_to_the_server_of_its_number() {
    // Two servers, five clients: each server received the sum of its own clients' traffic.
    let shape = ["--servers", "2", "--clients", "5"];
    let trials = trials_of(&[&["--workload", "tcp-stream,udp-rate"], &shape[..]].concat());
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let all = list(&trial, "series");
        assert_eq!(all.len(), 5);
        for server in 0..2 {
            let own = || all.iter().skip(server).step_by(2);
            let of_server = |pointer| counter(&trial, &format!("server-{server}"), pointer);
            if trial["workload"] == "udp-rate" {
                let received: u64 = own().map(|series| sum(series, "/datagrams/received")).sum();
                // Each client starts with a datagram of its own.
                let datagrams = received + own().count() as u64;
                assert_eq!(of_server("/protocols/Udp.InDatagrams"), datagrams, "{server}");
                continue;
            }
            let number = |series: &Value| series["client"].as_u64().expect("a number");
            let sent: u64 = own()
                .map(|series| {
                    let client = format!("client-{}", number(series));
                    let sent = counter(&trial, &client, "/devices/eth0/tx_bytes");
                    let carried = sum(series, "/bytes");
                    assert!(sent > 0 && carried < sent, "{client}: {carried} of {sent}");
                    sent
                })
                .sum();
            // A server's device has its clients' traffic, and a few packets that the bridge floods.
            let received = of_server("/devices/eth0/rx_bytes");
            assert!((sent..sent + 10_000).contains(&received), "{server}: {received} of {sent}");
        }
    }
}

#[test]
fn processes_of_a_client_share_its_load() {
    let load = ["--workload", "udp-rate,tcp-rr", "--rate", "8mbit", "--open-loop", "600"];
    let shape = ["--clients", "2", "--processes", "1,3", "--flows", "2"];
    let trials = trials_of(&[&load[..], &shape].concat());
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let (pointer, a_second) = if trial["workload"] == "udp-rate" {
            ("/datagrams/sent", 8e6 / 8.0 / 1232.0)
        } else {
            ("/operations", 600.0)
        };
        let clients = list(&trial, "series");
        assert_eq!(clients.len(), 2, "clients, not processes");
        let flows = trial["shape"]["processes"].as_u64().expect("a number") * 2;
        for client in clients {
            // Late operations are made up for, and none is early: at its end a flow is at most one operation ahead of
            // its schedule. A busy machine may do less.
            let due = a_second * sum(client, "/length") as f64 / 1e9 + flows as f64;
            let done = sum(client, pointer);
            assert!(done > 0 && done as f64 <= due, "{flows} flows: {done} of {due}");
        }
    }
}

#[test]
fn what_is_swept_is_shown_as_curves() {
    let scratch = ScratchDirectory::new();
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
    // Figures of two blocks have no interval.
    let row = |name: &str| {
        let line = curve.lines().find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not in {curve}"));
        line.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).count()
    };
    assert_eq!((row("host"), row("bridge-plain")), (3, 3), "{table}");
    assert!(table.contains("shares of 3 clients") && table.contains("fairness"), "{table}");
    let csv = std::fs::read_to_string(scratch.path("out/result.csv")).unwrap();
    let scopes: BTreeSet<&str> = csv.lines().filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(
        scopes,
        ["scope", "aggregate", "fairness", "client:0", "client:1", "client:2"].into()
    );
}

/// Returns the start of every client's first interval, ns, from the journal.
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
    let scratch = ScratchDirectory::new();
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
        // With a clock for each client, every client would start at 0.
        assert!(starts.iter().any(|start| *start > 0), "{starts:?}");
    }
}

#[test]
fn two_hundred_containers_are_served_by_few_processes() {
    for &user in User::all() {
        let scratch = ScratchDirectory::new();
        let tare = Tare::copied(&scratch, user);
        // The run has more blocks than the test waits for: the processes are counted until one block is over.
        let asked = ["--network", "bridge-plain", "--workload", "tcp-rr", "--clients", "199"];
        let how = ["--blocks", "1000", "--json", "--out", "out"];
        let long = ["--duration", "1s", "--interval", "50ms"];
        let running = tare.start(&[&["run"], &asked[..], &how, &long].concat());
        let (mut most, mut agents) = (0, BTreeSet::new());
        let directory = tare.directory().join("out");
        eventually("agents are seen, and a block is over", || {
            let now = processes(&tare);
            most = most.max(now.len());
            agents.extend(now.into_iter().filter(|(_, words)| words.contains("--namespaces")));
            !agents.is_empty() && !trials(&directory).is_empty()
        });
        running.signal(Signal::INT);
        let document = running.wait().expect(130).json();
        let cores = std::thread::available_parallelism().unwrap().get();
        // tare itself, its init process, and a child that is still a copy of tare for a moment.
        assert!(most <= 2 * cores + 3, "{most} processes");
        // Agents of a second block, which has started since, are other processes.
        assert!((2..=4 * cores).contains(&agents.len()), "{agents:?}");
        assert_eq!(cells(&document, "transactions", is_clients).len(), 199);
        let trials = trials(&directory);
        let each = list(&trials[0], "series");
        assert_eq!(each.len(), 199);
        assert!(each.iter().all(|series| sum(series, "/operations") > 0), "all had traffic");
    }
}

/// Returns the processes of this copy of tare, with their arguments.
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
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // 1,024 containers on a bridge of 1,023 ports; the other network is measured only in this shape, too.
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
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // Twenty million processes with a connection each are more than any kernel supports.
    let arguments =
        ["--network", "bridge-plain", "--clients", "2000", "--processes", "10000", "--out", "out"];
    let outcome = tare.run(&short_run(&arguments));
    outcome.assert_error(1, &["cannot run 2001 containers", "half", "raise the sysctl", "--force"]);
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
fn how_long_a_network_takes_to_come_up_is_measured_without_traffic() {
    let scratch = ScratchDirectory::new();
    let asked = ["--network", "loopback,bridge-plain", "--metric", "raise_ms", "--blocks", "2"];
    let run = short_run(&[&asked[..], &["--json", "--out", "out"]].concat());
    let begun = Instant::now();
    let document = Tare::in_directory(scratch.root()).run(&run).expect_measured().json();
    let elapsed = begun.elapsed().as_secs_f64() * 1e3;
    assert_eq!(document["blocks"], 2);
    let all = cells(&document, "raise_ms", |_| true);
    assert_eq!((all.len(), list(&document, "cells").len()), (2, 2), "nothing else was asked for");
    let records = records(&scratch.path("out"));
    assert!(records.iter().all(|record| record["record"] != "trial"), "there was no traffic");
    for cell in all {
        let turns = records.iter().filter(|record| record["record"] == "turn");
        let own = turns.filter(|turn| turn["label"] == cell["label"]);
        let raised: Vec<f64> = own.map(|turn| turn["raised"].as_f64().unwrap() / 1e6).collect();
        let samples = samples(cell);
        assert_eq!(samples.len(), 2);
        assert!(samples.iter().zip(&raised).all(|(a, b)| (a - b).abs() < ROUNDING), "{cell}");
        let sum: f64 = samples.iter().sum();
        assert!(samples.iter().all(|ms| *ms > 0.0) && sum < elapsed, "{elapsed}: {cell}");
    }
}
