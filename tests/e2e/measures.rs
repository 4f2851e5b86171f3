//! Measurements that need an otherwise idle machine, because no counter can prove them.

use serde_json::Value;
use support::ScratchDirectory;
use support::defective_network::defective_network;
use support::journal::trials;
use support::program::Tare;
use support::{list, schema, text};

#[test]
fn one_core_that_does_all_the_softirq_is_told() {
    let cores = std::thread::available_parallelism().expect("it is known").get();
    let scratch = ScratchDirectory::new();
    // Thousands of rules make the softirq time of a packet much longer than the time to send it.
    let network = defective_network(
        &scratch,
        "{ echo 'table bridge slow { chain forward { type filter hook forward priority 0;'; \
           seq 5000 | sed 's/.*/meta mark & drop/'; printf '}\\n}\\n'; } | nft -f -",
    );
    let tare = Tare::in_directory(scratch.root());
    let asked = ["run", "--network", &network, "--workload", "udp-rate", "--rate", "500mbit"];
    let how = ["--duration", "1s", "--interval", "50ms", "--blocks", "1", "--json", "--out", "out"];
    let document = tare.run_ahead_of_other_work(&[&asked[..], &how].concat()).expect(0).json();
    let table = tare.run(&["report", "out"]).expect(0).text();
    let findings = list(&document, "cells").iter().flat_map(|cell| list(cell, "findings"));
    let mut told = findings.filter(|finding| finding["kind"] == "softirq-on-one-core");
    let words = "the path does not spread over cores";
    if cores == 1 {
        assert_eq!((told.next(), table.contains(words)), (None, false));
    } else {
        let finding = told.next().unwrap_or_else(|| panic!("no finding in {document}"));
        let number = |key: &str| finding[key].as_f64().expect("a number");
        assert!(number("share") >= 0.85 && number("others") <= 0.25, "{finding}");
        assert!(table.contains(words), "{table}");
    }
}

#[test]
fn agents_are_a_part_of_what_keeps_the_machine_busy() {
    let cores = std::thread::available_parallelism().expect("it is known").get() as f64;
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["run", "--network", "bridge", "--workload", "tcp-stream,tcp-rr", "--blocks", "1"];
    let how = ["--duration", "1s", "--interval", "50ms", "--json"];
    let document = tare.run(&[&asked[..], &how].concat()).expect(0).json();
    for cell in list(&document, "cells") {
        let found = |kind| list(cell, "findings").iter().find(|finding| finding["kind"] == kind);
        let placed = found("cpu-placed");
        let number = |key: &str| {
            placed.and_then(|one| one[key].as_f64()).unwrap_or_else(|| panic!("{cell}"))
        };
        let agents = number("agents_user") + number("agents_system");
        // Time stolen by a hypervisor is part of a thread's CPU time, but not of the machine's.
        let stolen = found("stolen").and_then(|one| one["share"].as_f64()).unwrap_or(0.02) * cores;
        // Idle time is read in steps of 10 ms, and independently of the agents: their intervals and its samples end at
        // different times.
        assert!(number("busy") <= 1.001 * cores, "{placed:?}");
        let most = 1.05 * (number("busy") + stolen) + 0.1;
        assert!(agents > 0.2 && agents <= most, "{placed:?}, {stolen} cores were stolen");
        assert!((0.0..=number("busy")).contains(&number("softirq")), "{placed:?}");
    }
}

/// Runs a network, with results in a directory.
fn measure(tare: &Tare, directory: &str, network: &str) {
    let asked = ["run", "--network", network, "--workload", "tcp-stream", "--metric", "throughput"];
    // Reno's window follows the shaper within a few round trips; BBR's first estimate may last a whole short trial.
    let how = ["--congestion", "reno", "--duration", "400ms", "--interval", "10ms"];
    tare.run(&[&asked[..], &how, &["--blocks", "4", "--out", directory]].concat()).expect(0);
}

#[test]
fn a_shaper_that_is_slower_in_one_run_is_a_regression_of_as_much() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    measure(&tare, "base", "x=bridge+rate=200mbit");
    measure(&tare, "new", "x=bridge+rate=140mbit");
    let compare = ["compare", "base", "new", "--fail-on", "10%", "--json"];
    let comparison = tare.run(&compare).expect(3).json();
    schema::check(&comparison, "compare.json");
    let cell = &list(&comparison, "cells")[0];
    let ratio = cell["change"]["value"].as_f64().expect("a ratio");
    assert!((ratio - 0.7).abs() < 0.05, "{cell}");
    assert_eq!(text(cell, "outcome"), "regression");
}

#[test]
fn a_sequence_ends_with_its_precision() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    // Both networks are limited to a rate, so that their ratio hardly varies between blocks.
    let document = tare
        .run(&[
            "run",
            "--network",
            "a=bridge+rate=200mbit,b=bridge+rate=160mbit",
            "--baseline",
            "a",
            "--workload",
            "tcp-stream",
            "--metric",
            "throughput",
            "--duration",
            "500ms",
            "--interval",
            "10ms",
            "--sequential",
            "--precision",
            "30%",
            "--json",
            "--out",
            "out",
        ])
        .expect(0)
        .json();
    assert_eq!(document["stopped_by"], "sequence", "{document}");
    let ratio = &list(&document, "cells")[1]["ratio"];
    assert!(ratio.is_object(), "{document}");
    let [low, high] =
        [&ratio["ci95"][0], &ratio["ci95"][1]].map(|end| end.as_f64().expect("an end"));
    assert!((high / low).ln() / 2.0 <= 1.3f64.ln() + 1e-9, "{ratio}");
    assert!(document["blocks"].as_u64() >= Some(5));
}

/// Bytes of a datagram's frame beyond its payload, as a queue counts them: Ethernet, IPv4 and UDP.
const FRAME_HEADERS: f64 = 14.0 + 20.0 + 8.0;

/// Sends 19 % more than a link carries, and compares the loss with what exceeds the rate, once the queue is full. Large
/// datagrams reach the rate on any machine.
fn assert_loses_what_exceeds(rate: f64, mtu: u32, size: f64) {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let link = format!("rate={rate}mbit,queue=5ms,mtu={mtu}");
    let offered = format!("{}kbit", (rate * 1194.67).round());
    let datagram = size.to_string();
    let which = ["run", "-n", "host", "--nodes", "2", "--link", &link, "--workload", "udp-rate"];
    let what = ["--rate", &offered, "--size", &datagram, "--duration", "2s", "--interval", "100ms"];
    let asked = [&which[..], &what, &["--blocks", "1", "--out", "out"]].concat();
    tare.run_ahead_of_other_work(&asked).expect(0);
    let trials = trials(&tare.directory().join("out"));
    let [trial] = &trials[..] else { panic!("one trial: {trials:?}") };
    let intervals = list(&trial["series"][0], "intervals");
    // Four times the queue's 5 ms, or what 256 KiB last, fit into the first half of the trial.
    let full = &intervals[intervals.len() / 2..];
    let total =
        |pick: &dyn Fn(&Value) -> Option<f64>| -> f64 { full.iter().filter_map(pick).sum() };
    let sent = total(&|one| one["datagrams"]["sent"].as_f64());
    let received = total(&|one| one["datagrams"]["received"].as_f64());
    let seconds = total(&|one| one["length"].as_f64()) / 1e9;
    let carried = rate * 1e6 * seconds / 8.0 / (size + FRAME_HEADERS);
    let (lost, expected) = (1.0 - received / sent, 1.0 - carried / sent);
    assert!(expected > 0.05, "the sender is too slow: {sent} datagrams in {seconds} s, {link}");
    assert!((lost / expected - 1.0).abs() < 0.1, "{lost} of {expected} lost at {rate} Mbit/s");
}

#[test]
fn a_link_loses_as_much_as_exceeds_its_rate() {
    for rate in [100.0, 300.0, 750.0] {
        assert_loses_what_exceeds(rate, 9000, 8000.0);
    }
    assert_loses_what_exceeds(5000.0, 65_535, 60_000.0);
}
