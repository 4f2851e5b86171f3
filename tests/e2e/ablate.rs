//! Tests of `--ablate`, which changes one factor of a network at a time, and of `--cores`, which compares fewer cores.

use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use support::ScratchDirectory;
use support::eventually;
use support::journal::{rewrite, set_rate};
use support::machine::descendants;
use support::program::Tare;
use support::{list, short_run, text};

/// Factors of a network, the option that changes each, and the rate with that option as a multiple of the network's
/// known rate.
const OPTIONS: [(&str, &str, f64); 8] = [
    ("netfilter", "+plain", 1.2),
    ("conntrack", "+untracked", 1.1),
    ("gro", "+without=gro", 0.7),
    ("gso", "+without=gso", 0.6),
    ("tso", "+without=tso", 0.5),
    ("checksum", "+without=checksum", 0.9),
    ("mtu", "+mtu=9000", 1.5),
    ("rps", "+rps", 1.05),
];

/// Networks whose factors are changed, with their known rates, bit/s, and the least number of factors of each.
const NETWORKS: [(&str, f64, usize); 3] =
    [("host", 40e9, 4), ("bridge", 20e9, 7), ("veth+plain", 30e9, 5)];

/// Returns the known rate of a network, changed or not.
fn known_rate(label: &str) -> f64 {
    let of = |(network, rate, _): &(&str, f64, usize)| {
        let option = label.strip_prefix(network)?;
        let factor = OPTIONS.iter().find(|(_, name, _)| *name == option).map(|(.., factor)| factor);
        (option.is_empty() || factor.is_some()).then(|| rate * factor.unwrap_or(&1.0))
    };
    NETWORKS.iter().find_map(of).unwrap_or_else(|| panic!("{label} is one of the networks"))
}

fn ablated<'a>(document: &'a Value, label: &str) -> &'a Value {
    let is = |cell: &&Value| cell["label"] == label && cell["metric"] == "throughput";
    let cell = list(document, "cells").iter().find(is).unwrap_or_else(|| panic!("{label}"));
    let finding = list(cell, "findings").iter().find(|finding| finding["kind"] == "ablated");
    finding.unwrap_or_else(|| panic!("{label} was changed: {cell}"))
}

fn near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-6
}

#[test]
fn each_change_stands_beside_the_network_and_the_rest_is_told() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["--network", "host,bridge,veth+plain", "--ablate", "--workload", "tcp-stream"];
    let how = ["--duration", "100ms", "--interval", "10ms", "--blocks", "2", "--out", "out"];
    tare.run(&[&["run"], &asked[..], &["--metric", "throughput"], &how].concat()).expect(0);
    rewrite(&scratch.path("out"), |trial| {
        let block = trial["block"].as_f64().expect("a number");
        let rate = known_rate(text(trial, "label"));
        set_rate(trial, rate * (1.0 + block / 100.0));
    });
    let document = tare.run(&["report", "out", "--json"]).expect(0).json();
    for (label, _, fewest) in NETWORKS {
        let finding = ablated(&document, label);
        let effects = list(finding, "effects");
        assert!(effects.len() >= fewest, "{label}: {finding}");
        for effect in effects {
            let is = |(factor, ..): &&(&str, &str, f64)| *factor == text(effect, "factor");
            let (_, option, factor) = OPTIONS.iter().find(is).expect("a known factor");
            let found = effect["ratio"].as_f64().expect("a ratio");
            assert!(near(found, *factor), "{label}{option}: {found} {factor}");
        }
    }
    // A network without rules has no factor for rules.
    let factors: Vec<&str> = list(ablated(&document, "veth+plain"), "effects")
        .iter()
        .map(|effect| text(effect, "factor"))
        .collect();
    assert!(!factors.contains(&"netfilter") && !factors.contains(&"conntrack"), "{factors:?}");
    let rest = &ablated(&document, "bridge")["unaccounted"];
    let counted: Vec<&str> =
        list(rest, "counted").iter().map(|factor| factor.as_str().expect("a name")).collect();
    assert_eq!(counted, ["netfilter", "mtu"]);
    let number = |key: &str| rest[key].as_f64().expect("a ratio");
    assert!(near(number("gap"), 2.0), "{rest}");
    assert!(near(number("ratio"), 2.0 / 1.2 / 1.5), "{rest}");
}

#[test]
fn only_what_is_named_is_changed_and_nonsense_is_refused() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let plan = |flags: &[&str]| tare.run(&[&["run", "--dry-run"], flags].concat());
    let told = plan(&["--network", "bridge", "--ablate=tso,netfilter"]).expect(0).text();
    for label in ["bridge+without=tso", "bridge+plain"] {
        assert!(told.contains(label), "{told}");
    }
    assert!(!told.contains("+without=gro"), "{told}");
    let lro = plan(&["--network", "bridge", "--ablate=lro"]).expect(2).stderr;
    assert!(lro.contains("unknown factor `lro`: expected one of netfilter"), "{lro}");
    plan(&["icc-2014", "--ablate"])
        .assert_error(2, &["cannot apply --ablate to a study with sections"]);
    plan(&["--network", "native", "--ablate"])
        .assert_error(2, &["cannot apply --ablate: no network supports any"]);
}

/// Returns the cores that a process may run on, as `/proc` lists them. Returns `None` if it has ended.
fn allowed_cores(pid: Pid) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

#[test]
fn on_fewer_cores_the_networks_own_programs_are_held_to_them_too() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["--network", "bridge-plain,ovs-user", "--cores", "1", "--workload", "tcp-rr"];
    // The run has more blocks than the test waits for, so that the daemon is seen in one of them.
    let how = ["--blocks", "1000", "--json", "--out", "out"];
    let mut running = tare.start(&short_run(&[&asked[..], &how].concat()));
    running.wait_for("block 1 ");
    let cores = eventually("the daemon runs", || {
        let daemons = descendants(running.pid(), "ovs-vswitchd unix:").into_iter();
        let cores: Vec<String> = daemons.filter_map(allowed_cores).collect();
        (!cores.is_empty()).then_some(cores)
    });
    running.signal(Signal::INT);
    let document = running.wait().expect(130).json();
    assert!(cores.iter().all(|cores| cores.parse::<u32>().is_ok()), "one core each: {cores:?}");
    let mut networks = BTreeSet::new();
    for cell in list(&document, "cells") {
        networks.insert(text(cell, "network"));
        assert_eq!(cell["shape"]["cpus"], "first-1");
        let of = |side: &str| list(&cell["parameters"], side).to_vec();
        assert_eq!(of("client_cores"), of("server_cores"), "both sides have one core");
        assert_eq!(of("client_cores").len(), 1, "{cell}");
    }
    assert_eq!(networks, ["bridge-plain", "ovs-user"].into());
}

#[test]
fn each_number_of_cores_is_a_comparison_of_its_own() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let plan = |cores: &str| {
        tare.run(&["run", "--network", "veth", "--cores", cores, "--dry-run", "--json"])
    };
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    let shapes = |cores: &str| -> Vec<String> {
        let document = plan(cores).expect(0).json();
        list(&document, "shapes").iter().map(|shape| text(shape, "cpus").to_owned()).collect()
    };
    if there > 1 {
        assert_eq!(shapes("1,2"), ["first-1", "first-2"]);
    } else {
        assert_eq!(shapes("1"), ["first-1"]);
        plan("1,2").assert_error(2, &["`2` for --cores: expected a number from 1 to"]);
    }
    plan("4096").assert_error(2, &["`4096` for --cores: expected a number from 1 to"]);
    plan("0").assert_error(2, &["`0` for --cores: expected a number from 1 to"]);
}
