//! Why it costs what it costs: each cause is provoked over a real network, and told in the document, table and page.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use std::thread::available_parallelism;
use support::program::Tare;
use support::scratch::Scratch;
use support::worse::worse;
use support::{list, text};

/// Trials that are long enough for some samples of the machine, the first of them for the warm-up.
const TRIALS: [&str; 6] = ["--duration", "1s", "--interval", "50ms", "--blocks", "1"];

/// A run, and what there is to read of it.
struct Told {
    document: Value,
    table: String,
    page: String,
}

impl Told {
    /// What a run with these flags tells.
    fn by(scratch: &Scratch, flags: &[&str]) -> Self {
        let tare = Tare::in_directory(scratch.root());
        let run = [&["run"], &TRIALS[..], flags, &["--json", "--out", "out"]].concat();
        let document = tare.run(&run).expect(0).json();
        Self::of(&tare, document)
    }

    /// What is told of a run that is in the directory `out`.
    fn of(tare: &Tare, document: Value) -> Self {
        let report = |flags: &[&str]| tare.run(&[&["report", "out"], flags].concat()).expect(0);
        Self { document, table: report(&[]).text(), page: report(&["--html", "-"]).text() }
    }

    fn cells(&self) -> &[Value] {
        list(&self.document, "cells")
    }

    /// The findings of this kind about a network.
    fn all(&self, label: &str, kind: &str) -> Vec<&Value> {
        let cells = self.cells().iter().filter(|cell| cell["label"] == label);
        let findings = cells.flat_map(|cell| list(cell, "findings"));
        findings.filter(|finding| finding["kind"] == kind).collect()
    }

    /// The first of them, which table and page tell in these words.
    #[track_caller]
    fn one(&self, label: &str, kind: &str, words: &str) -> &Value {
        let all = self.all(label, kind);
        let one = all.first().unwrap_or_else(|| panic!("no {kind}: {}", self.document["cells"]));
        assert!(self.table.contains(words), "`{words}` is not in: {}", self.table);
        assert!(self.page.contains(words), "`{words}` is not on the page");
        one
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("`{key}` is a number in {value}"))
}

#[test]
fn a_forwarder_in_user_space_is_named_with_its_cost() {
    let scratch = Scratch::new();
    let networks = ["--network", "bridge,published-proxy", "--workload", "tcp-stream"];
    let told = Told::by(&scratch, &networks);
    let words = "packets pass through user space: ";
    let finding = told.one("published-proxy", "userspace", words);
    assert!(number(finding, "cores") > 0.05 && !text(finding, "program").is_empty(), "{finding}");
    assert_eq!(told.all("bridge", "userspace"), [] as [&Value; 0]);
}

#[test]
fn every_cell_says_where_its_cpu_time_went() {
    let scratch = Scratch::new();
    let networks = ["--network", "bridge,published-proxy", "--workload", "tcp-stream,tcp-rr"];
    let told = Told::by(&scratch, &networks);
    let cores = available_parallelism().expect("it is known").get() as f64;
    assert!(told.cells().len() >= 4);
    for cell in told.cells() {
        let mut placed = list(cell, "findings").iter().filter(|one| one["kind"] == "cpu-placed");
        let (Some(one), None) = (placed.next(), placed.next()) else { panic!("not one: {cell}") };
        let part = |key| number(one, key);
        let agents = part("agents_user") + part("agents_system");
        // All is sampled in ticks, and from outside of the agents.
        assert!(part("busy") > 0.0 && part("busy") < 1.25 * cores, "{one}");
        assert!(agents > 0.0 && agents < 1.2 * part("busy") + 0.1, "{one}");
        assert!((0.0..=part("busy")).contains(&part("softirq")), "{one}");
        let has_daemons = cell["label"] == "published-proxy";
        assert_eq!(part("daemons") > 0.0, has_daemons, "{one}");
    }
    assert!(told.page.contains(" busy cores the agents took "), "the page says it beside a path");
}

#[test]
fn a_device_that_cuts_large_packets_has_lost_an_offload() {
    let scratch = Scratch::new();
    let network = worse(&scratch, "ethtool -K port1 tso off gso off");
    let told = Told::by(&scratch, &["--network", &network, "--workload", "tcp-stream"]);
    let finding = told.one(&network, "offload-lost", "offload lost at node-0:port1: packets of ");
    // A packet of the size that the device carries, with its Ethernet header.
    assert!(number(finding, "before") > 6000.0 && number(finding, "after") < 1515.0, "{finding}");
}

#[test]
fn segments_are_sent_again_for_what_a_queue_drops() {
    let scratch = Scratch::new();
    let network =
        worse(&scratch, "tc qdisc add dev port1 root tbf rate 50mbit burst 10000 limit 20000");
    let told = Told::by(&scratch, &["--network", &network, "--workload", "tcp-stream"]);
    let finding = told.one(&network, "retransmitted", " segments were sent again (");
    assert!(number(finding, "segments") >= 20.0, "{finding}");
    let first = list(finding, "drops").first().expect("what was dropped");
    assert_eq!(text(first, "cause"), "queue", "{finding}");
    assert_eq!((text(first, "place"), text(first, "at")), ("node-0", "port1/tbf"), "{finding}");
    assert!(told.table.contains(" at the queue node-0:port1/tbf"), "{}", told.table);
}

#[test]
fn packets_that_do_not_fit_are_told_with_what_they_become() {
    let scratch = Scratch::new();
    // Fragments of 1500 bytes come to a tunnel that carries 1450, and must be cut once more.
    let shape = ["--nodes", "2", "--mtu", "1500", "--network", "vxlan,calico-vxlan"];
    let traffic = ["--workload", "udp-rate", "--size", "4000", "--rate", "20mbit"];
    let told = Told::by(&scratch, &[shape, traffic].concat());
    for network in ["vxlan", "calico-vxlan"] {
        let words = "MTU 1500 inside, 1450 available: ";
        let finding = told.one(network, "fragmented", words);
        assert!(number(finding, "fragments") >= 2.0 * number(finding, "packets"), "{finding}");
        assert!(
            number(finding, "packets") > 0.0 && !text(finding, "place").is_empty(),
            "{finding}"
        );
    }
    let cut = told.all("vxlan", "fragmented")[0];
    assert_eq!(text(cut, "place"), "overlay-0", "{cut}");
    assert_eq!(number(cut, "fragments"), 2.0 * number(cut, "packets"), "{cut}");
    assert!(told.table.contains("every larger packet is two"), "{}", told.table);
    let words = "one machine, ";
    assert!(number(told.one("vxlan", "one-machine", words), "cores") >= 1.0);
}

#[test]
fn a_path_that_fits_cuts_nothing() {
    let scratch = Scratch::new();
    let shape = ["--nodes", "2", "--network", "vxlan", "--workload", "udp-rate,tcp-stream"];
    let told = Told::by(&scratch, &[&shape[..], &["--rate", "20mbit"]].concat());
    assert_eq!(told.all("vxlan", "fragmented"), [] as [&Value; 0]);
}

#[test]
fn encryption_without_a_device_for_it_is_told() {
    let scratch = Scratch::new();
    let networks = "weave-sleeve,weave-sleeve-encrypted";
    let flags = ["--nodes", "2", "--network", networks, "--workload", "tcp-stream"];
    let told = Told::by(&scratch, &flags);
    let kind = "encrypted-in-software";
    let finding = told.one("weave-sleeve-encrypted", kind, "encrypted in software, by ");
    assert!(!text(finding, "by").is_empty(), "{finding}");
    assert_eq!(told.all("weave-sleeve", kind), [] as [&Value; 0]);
}

#[test]
fn one_core_that_does_all_the_softirq_is_told() {
    let cores = available_parallelism().expect("it is known").get();
    let scratch = Scratch::new();
    // Thousands of rules make what a packet takes in software interrupts much more than what it takes to send it.
    let network = worse(
        &scratch,
        "{ echo 'table bridge slow { chain forward { type filter hook forward priority 0;'; \
           seq 5000 | sed 's/.*/meta mark & drop/'; printf '}\\n}\\n'; } | nft -f -",
    );
    let tare = Tare::in_directory(scratch.root());
    // Other work must not take the core away; only root may say so.
    let run = format!(
        "exec nice -n -20 \"$tare\" run --network {network} --workload udp-rate --rate 500mbit {} --json --out out",
        TRIALS.join(" ")
    );
    let told = Told::of(&tare, tare.in_private_mounts(&run).expect(0).json());
    if cores == 1 {
        assert_eq!(told.all(&network, "softirq-on-one-core"), [] as [&Value; 0]);
        return;
    }
    let words = "the path does not spread over cores";
    let finding = told.one(&network, "softirq-on-one-core", words);
    assert!(number(finding, "share") >= 0.85 && number(finding, "others") <= 0.25, "{finding}");
}

/// The journal of a machine whose cores executed three instructions each ns, in two cycles, while this one was written.
fn with_counters(journal: &str) -> String {
    let line = |line: &str| {
        let mut record: Value = serde_json::from_str(line).expect("a record");
        if record["record"] == "trial" {
            let samples = list(&record["meanwhile"], "samples").iter().map(|sample| {
                let at = sample["at"].as_u64().expect("ns");
                json!({"at": at, "executed": [{"cycles": 2 * at, "instructions": 3 * at}]})
            });
            let samples: Vec<Value> = samples.collect();
            let hardware = json!({"counted": "agents", "running": 1.0, "samples": samples});
            record["meanwhile"]["hardware"] = hardware;
        }
        record.to_string() + "\n"
    };
    journal.lines().map(line).collect()
}

#[test]
fn what_the_processor_counted_is_told_for_each_packet() {
    let scratch = Scratch::new();
    let tare = Tare::in_directory(scratch.root());
    let flags = ["--network", "host", "--workload", "udp-rate", "--rate", "50mbit"];
    tare.run(&[&["run"], &TRIALS[..], &flags, &["--out", "out"]].concat()).expect(0);
    let file = scratch.path("out/journal.jsonl");
    let journal = std::fs::read_to_string(&file).expect("a journal");
    std::fs::write(&file, with_counters(&journal)).expect("room for it");
    let told = Told::of(&tare, tare.run(&["report", "out", "--json"]).expect(0).json());
    let mean = |metric: &str| {
        let cell = told.cells().iter().find(|cell| cell["metric"] == metric);
        number(cell.unwrap_or_else(|| panic!("no cell for {metric}")), "mean")
    };
    // 50 Mbit/s in datagrams of 1232 bytes: one in 197 µs, or a little more where they came late.
    let cycles = mean("cycles_per_packet");
    assert!(cycles > 0.9 * 394_240.0, "{cycles}");
    assert!((mean("instructions_per_packet") / cycles - 1.5).abs() < 1e-6);
    assert!(told.table.contains("cycles_per_packet") && told.page.contains("cycles_per_packet"));
    let words = "hardware counters counted tare's agents alone";
    assert!(told.table.contains(words) && told.page.contains(words), "{}", told.table);
    let metrics = tare.run(&["report", "out", "--openmetrics", "-"]).expect(0).text();
    assert!(metrics.contains("# UNIT tare_cycles_per_packet cycles_per_packet"), "{metrics}");
}

/// Every cell says what looking on took; cycles and instructions are there, or `tare doctor` says why they are not.
#[test]
fn what_is_looked_at_and_what_that_costs_is_told() {
    let scratch = Scratch::new();
    let told = Told::by(&scratch, &["--network", "host,bridge", "--workload", "udp-rate"]);
    for label in ["host", "bridge"] {
        let watched = told.all(label, "watched");
        assert!(!watched.is_empty(), "{}", told.document["cells"]);
        assert!(watched.iter().all(|one| number(one, "sampling") > 0.0), "{watched:?}");
    }
    assert!(told.page.contains("looking on took "), "it is not on the page");
    let tare = Tare::in_directory(scratch.root());
    let doctor = tare.run(&["doctor", "--json"]).expect(0).json();
    let checks = list(&doctor, "checks");
    let check = checks.iter().find(|one| one["name"] == "hardware counters").expect("a check");
    let cycles = told.cells().iter().find(|cell| cell["metric"] == "cycles_per_packet");
    let named = ["run", "--network", "host", "--workload", "udp-rate", "--duration", "200ms"];
    let of_these = ["--interval", "20ms", "--metric", "cycles_per_packet", "--blocks", "1"];
    let named = tare.run(&[&named[..], &of_these, &["--out", "named"]].concat());
    if text(check, "detail").starts_with("not to be had: ") {
        assert_eq!(cycles, None, "nothing is said of what is not there");
        named.complains(1, &["cycles_per_packet cannot be measured here: "]);
    } else {
        assert!(number(cycles.expect("a cell"), "mean") > 0.0);
        named.expect(0);
    }
}
