//! What a comparison depends on: one thing changed at a time (`--ablate`), and fewer cores (`--cores`).
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use support::program::Tare;
use support::scratch::Scratch;
use support::{list, short_run, text};

/// A cell's samples, by block.
fn samples(document: &Value, label: &str) -> BTreeMap<u64, f64> {
    let is = |cell: &&Value| cell["label"] == label && cell["metric"] == "throughput";
    let cell = list(document, "cells").iter().find(is).unwrap_or_else(|| panic!("{label}"));
    let blocks = list(cell, "blocks").iter().map(|block| block.as_u64().expect("a number"));
    let values = list(cell, "samples").iter().map(|value| value.as_f64().expect("a number"));
    blocks.zip(values).collect()
}

/// The geometric mean of the ratios of two networks' samples in the same blocks.
fn ratio(document: &Value, above: &str, below: &str) -> f64 {
    let (above, below) = (samples(document, above), samples(document, below));
    let logs: Vec<f64> =
        above.iter().filter_map(|(block, value)| Some((value / below.get(block)?).ln())).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

fn ablated<'a>(document: &'a Value, label: &str) -> &'a Value {
    let is = |cell: &&Value| cell["label"] == label && cell["metric"] == "throughput";
    let cell = list(document, "cells").iter().find(is).unwrap_or_else(|| panic!("{label}"));
    let finding = list(cell, "findings").iter().find(|finding| finding["kind"] == "ablated");
    finding.unwrap_or_else(|| panic!("{label} was changed: {cell}"))
}

fn near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-9
}

#[test]
fn each_change_stands_beside_the_network_and_the_rest_is_told() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["--network", "host,bridge,veth+plain", "--ablate", "--workload", "tcp-stream"];
    let how = ["--metric", "throughput", "--blocks", "3", "--json", "--out", "out"];
    let document = tare.run(&short_run(&[&asked[..], &how].concat())).expect(0).json();
    let options = BTreeMap::from([
        ("netfilter", "+plain"),
        ("conntrack", "+untracked"),
        ("gro", "+without=gro"),
        ("gso", "+without=gso"),
        ("tso", "+without=tso"),
        ("checksum", "+without=checksum"),
        ("mtu", "+mtu=9000"),
        ("rps", "+rps"),
    ]);
    for (label, fewest) in [("host", 4), ("bridge", 7), ("veth+plain", 5)] {
        let finding = ablated(&document, label);
        let effects = list(finding, "effects");
        assert!(effects.len() >= fewest, "{label}: {finding}");
        for effect in effects {
            let option = options[text(effect, "factor")];
            let expected = ratio(&document, &format!("{label}{option}"), label);
            let found = effect["ratio"].as_f64().expect("a ratio");
            assert!(near(found, expected), "{label}{option}: {found} {expected}");
        }
    }
    // A network without rules has none to be without.
    let factors: Vec<&str> = list(ablated(&document, "veth+plain"), "effects")
        .iter()
        .map(|effect| text(effect, "factor"))
        .collect();
    assert!(!factors.contains(&"netfilter") && !factors.contains(&"conntrack"), "{factors:?}");
    let rest = &ablated(&document, "bridge")["unaccounted"];
    let counted: Vec<&str> =
        list(rest, "counted").iter().map(|factor| factor.as_str().expect("a name")).collect();
    assert_eq!(counted, ["netfilter", "mtu"]);
    let expected = ratio(&document, "host", "bridge")
        / ratio(&document, "bridge+plain", "bridge")
        / ratio(&document, "bridge+mtu=9000", "bridge");
    assert!(near(rest["ratio"].as_f64().expect("a ratio"), expected), "{rest}");
    assert!(near(rest["gap"].as_f64().expect("a ratio"), ratio(&document, "host", "bridge")));
}

#[test]
fn only_what_is_named_is_changed_and_nonsense_is_refused() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let plan = |flags: &[&str]| tare.run(&[&["run", "--dry-run"], flags].concat());
    let told = plan(&["--network", "bridge", "--ablate=tso,netfilter"]).expect(0).text();
    for label in ["bridge+without=tso", "bridge+plain"] {
        assert!(told.contains(label), "{told}");
    }
    assert!(!told.contains("+without=gro"), "{told}");
    let lro = plan(&["--network", "bridge", "--ablate=lro"]).expect(2).stderr;
    assert!(lro.contains("unknown thing to change `lro`: it is one of netfilter"), "{lro}");
    plan(&["icc-2014", "--ablate"]).complains(2, &["a study with sections"]);
    plan(&["--network", "native", "--ablate"])
        .complains(2, &["nothing can be changed one at a time"]);
}

/// The processes with these words on their command line that are below this one, each with the cores it may run on.
fn allowed(words: &str, below: u32) -> Vec<String> {
    let status = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/status")).ok();
    let field = |status: &str, key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.map(|rest| rest.trim().to_owned())
    };
    let is_below = |pid: String| {
        let mut pid = pid;
        while let Some(parent) = status(&pid).and_then(|one| field(&one, "PPid:")) {
            if parent == below.to_string() {
                return true;
            }
            pid = parent;
        }
        false
    };
    let all = std::fs::read_dir("/proc").expect("proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.parse::<u32>().is_ok())
        .filter_map(|pid| Some((status(&pid)?, pid)))
        .filter(|(_, pid)| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.replace('\0', " ").contains(words)
        })
        .filter(|(_, pid)| is_below(pid.clone()))
        .filter_map(|(status, _)| field(&status, "Cpus_allowed_list:"))
        .collect()
}

#[test]
fn on_fewer_cores_the_networks_own_programs_are_held_to_them_too() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["--network", "bridge-plain,ovs-user", "--cores", "1", "--workload", "tcp-rr"];
    let how = ["--blocks", "1", "--json", "--out", "out"];
    let long = ["--duration", "2s", "--interval", "100ms"];
    let running = tare.start(&[&["run"], &asked[..], &how, &long].concat());
    let mut found = Vec::new();
    for _ in 0..400 {
        found = allowed("ovs-vswitchd unix:", running.pid());
        if !found.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    let document = running.wait().expect(0).json();
    assert!(!found.is_empty(), "the daemon was seen");
    assert!(found.iter().all(|cores| cores.parse::<u32>().is_ok()), "one core each: {found:?}");
    for cell in list(&document, "cells") {
        assert_eq!(cell["shape"]["cpus"], "first-1");
        let of = |side: &str| cell["parameters"][side].clone();
        assert_eq!(of("client_cores"), of("server_cores"), "both sides have one core");
    }
}

#[test]
fn each_number_of_cores_is_a_comparison_of_its_own() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let plan = |cores: &str| {
        tare.run(&["run", "--network", "veth", "--cores", cores, "--dry-run", "--json"])
    };
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    if there > 1 {
        let document = plan("1,2").expect(0).json();
        let shapes: Vec<&str> =
            list(&document, "shapes").iter().map(|shape| text(shape, "cpus")).collect();
        assert_eq!(shapes, ["first-1", "first-2"]);
    }
    plan("4096").complains(2, &["--cores 4096: tare may use 1 to"]);
    plan("0").complains(2, &["--cores 0: tare may use 1 to"]);
}
