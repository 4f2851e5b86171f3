//! Findings about costs: each cause is provoked over a real network, and must be in the document, the table and the
//! page as the kernel counted it.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use support::defective_network::{SavedCounters, defective_network};
use support::journal::{counter, rewrite, trials};
use support::program::Tare;
use support::{ScratchDirectory, list, machine, text};

/// Flags for trials that are long enough for some samples of the machine, the first of them during the warm-up.
const TRIALS: [&str; 6] = ["--duration", "1s", "--interval", "50ms", "--blocks", "1"];

/// Run, with its document, table and page.
struct ReportedRun {
    directory: PathBuf,
    document: Value,
    table: String,
    page: String,
}

impl ReportedRun {
    /// Runs with these flags.
    fn with_flags(scratch: &ScratchDirectory, flags: &[&str]) -> Self {
        let tare = Tare::in_directory(scratch.root());
        let run = [&["run"], &TRIALS[..], flags, &["--json", "--out", "out"]].concat();
        let document = tare.run(&run).expect(0).json();
        Self::from_document(&tare, document)
    }

    /// Reads the run in the directory `out`. Fails unless its figures follow from its journal.
    fn from_document(tare: &Tare, document: Value) -> Self {
        let report = |flags: &[&str]| tare.run(&[&["report", "out"], flags].concat()).expect(0);
        let (table, page) = (report(&[]).text(), report(&["--html", "-"]).text());
        let directory = tare.directory().join("out");
        let journal = std::fs::read_to_string(directory.join("journal.jsonl")).expect("a journal");
        crate::recompute::check(&journal, &document);
        Self { directory, document, table, page }
    }

    /// Returns the only trial of a network and a workload.
    fn trial(&self, label: &str, workload: &str) -> Value {
        let is = |trial: &Value| trial["label"] == label && trial["workload"] == workload;
        let mut trials = trials(&self.directory).into_iter().filter(is);
        trials.next().unwrap_or_else(|| panic!("{workload} over {label} was measured"))
    }

    fn cells(&self) -> &[Value] {
        list(&self.document, "cells")
    }

    /// Returns the findings of this kind about a network.
    fn findings(&self, label: &str, kind: &str) -> Vec<&Value> {
        let cells = self.cells().iter().filter(|cell| cell["label"] == label);
        let findings = cells.flat_map(|cell| list(cell, "findings"));
        findings.filter(|finding| finding["kind"] == kind).collect()
    }

    /// Returns the first finding of this kind, which must be in the table and the page in these words.
    #[track_caller]
    fn expect_finding(&self, label: &str, kind: &str, words: &str) -> &Value {
        let all = self.findings(label, kind);
        let one = all.first().unwrap_or_else(|| panic!("no {kind}: {}", self.document["cells"]));
        assert!(self.table.contains(words), "`{words}` is not in: {}", self.table);
        assert!(self.page.contains(words), "`{words}` is not on the page");
        one
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("`{key}` is a number in {value}"))
}

/// Returns the seconds of a trial with its set-up.
fn took(trial: &Value) -> f64 {
    number(trial, "took") / 1e9
}

/// Returns the CPU time of the threads that carried a trial's traffic, ns.
fn cpu_of_agents(trial: &Value) -> f64 {
    let threads = ["clients", "servers"].into_iter().flat_map(|side| list(&trial["agents"], side));
    threads.map(|thread| number(thread, "user") + number(thread, "system")).sum()
}

/// Returns the CPU time of all cores between a trial's first and last sample, ns.
fn cpu_of_machine(trial: &Value) -> f64 {
    let samples = list(&trial["meanwhile"], "samples");
    let kinds = ["user", "system", "softirq", "irq"];
    let of_core = |core: &Value| kinds.iter().map(|kind| number(core, kind)).sum::<f64>();
    let until = |sample: &Value| list(sample, "cores").iter().map(of_core).sum::<f64>();
    until(samples.last().expect("samples")) - until(&samples[0])
}

/// Returns the CPU time of the network's programs in a trial, ns, by their names.
fn cpu_of_daemons(trial: &Value) -> BTreeMap<String, f64> {
    let daemons = trial["meanwhile"]["counted"]["daemons"].as_object();
    let daemons = daemons.into_iter().flatten();
    daemons.map(|(name, time)| (name.clone(), time.as_f64().expect("ns"))).collect()
}

/// Least number of cores that a program must keep busy to be named.
const LEAST_NAMED_CORES: f64 = 0.05;

#[test]
fn cpu_time_and_a_forwarder_in_user_space_are_told_as_the_kernel_counted_them() {
    let scratch = ScratchDirectory::new();
    let networks = ["--network", "bridge,published-proxy", "--workload", "tcp-stream,tcp-rr"];
    let (busy, ended) = (machine::busy_time(), machine::ended_children());
    let told = ReportedRun::with_flags(&scratch, &networks);
    let (busy, ended) = (machine::busy_time() - busy, machine::ended_children() - ended);
    let trials = trials(&told.directory);
    assert_eq!(trials.len(), 4);
    // The trials are part of the CPU time of all programs in that time, and of that of this test's programs.
    let of_machine: f64 = trials.iter().map(cpu_of_machine).sum();
    let of_agents: f64 = trials.iter().map(cpu_of_agents).sum();
    assert!(of_machine > 0.0 && of_machine <= busy.as_nanos() as f64, "{of_machine} {busy:?}");
    assert!(of_agents > 0.0 && of_agents <= ended.as_nanos() as f64, "{of_agents} {ended:?}");
    for cell in told.cells() {
        let mut placed = list(cell, "findings").iter().filter(|one| one["kind"] == "cpu-placed");
        let (Some(one), None) = (placed.next(), placed.next()) else { panic!("not one: {cell}") };
        let trial = told.trial(text(cell, "label"), text(cell, "workload"));
        assert_cpu_of(one, &trial);
        let daemons = cpu_of_daemons(&trial);
        assert_eq!(daemons.is_empty(), cell["label"] == "bridge", "{daemons:?}");
        let cores = daemons.values().sum::<f64>() / 1e9 / took(&trial);
        assert!((number(one, "daemons") - cores).abs() < 1e-6, "{cores}: {one}");
        assert_named_with_cost(cell, &daemons, took(&trial));
    }
    assert!(told.page.contains(" busy cores, the agents took "), "the page says it beside a path");
    // The same run with known times: the forwarder is named if it takes a twentieth of a core or more.
    for (share, named) in [(0.25, true), (0.04, false)] {
        rewrite(&told.directory, |trial| {
            let time = (number(trial, "took") * share) as u64;
            let daemons = trial.pointer_mut("/meanwhile/counted/daemons");
            daemons
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
                .for_each(|(_, known)| *known = time.into());
        });
        let tare = Tare::in_directory(scratch.root());
        let told = ReportedRun::from_document(
            &tare,
            tare.run(&["report", "out", "--json"]).expect(0).json(),
        );
        if named {
            let finding = told.expect_finding(
                "published-proxy",
                "userspace",
                "packets pass through user space: ",
            );
            assert!((number(finding, "cores") - share).abs() < 1e-6, "{finding}");
        } else {
            assert_eq!(told.findings("published-proxy", "userspace"), [] as [&Value; 0]);
        }
    }
}

/// Fails unless the agents' and the machine's CPU time of a finding are those of the trial's steady state.
fn assert_cpu_of(placed: &Value, trial: &Value) {
    let steady = crate::recompute::SteadyPart::new(trial);
    for kind in ["user", "system"] {
        let threads = ["clients", "servers"].into_iter().flat_map(|side| {
            list(&trial["agents"], side).iter().enumerate().filter(|(at, _)| *at >= steady.from)
        });
        let time: f64 = threads.map(|(_, thread)| number(thread, kind)).sum();
        let cores = time / steady.length();
        let told = number(placed, &format!("agents_{kind}"));
        assert!((told - cores).abs() < 1e-6, "{kind}: {cores}: {placed}");
    }
    for (key, kinds) in
        [("busy", &["user", "system", "softirq", "irq"][..]), ("softirq", &["softirq", "irq"])]
    {
        let cores = steady.cores(trial, kinds).expect("samples of the machine");
        assert!((number(placed, key) - cores).abs() < 1e-6, "{key}: {cores}: {placed}");
    }
}

/// Fails unless exactly the programs with enough CPU time are named in a cell, with the cores that they kept busy.
fn assert_named_with_cost(cell: &Value, daemons: &BTreeMap<String, f64>, seconds: f64) {
    let findings = list(cell, "findings").iter().filter(|one| one["kind"] == "userspace");
    let named: BTreeMap<&str, f64> =
        findings.map(|one| (text(one, "program"), number(one, "cores"))).collect();
    let cores = daemons.iter().map(|(name, time)| (name.as_str(), time / 1e9 / seconds));
    let expected: BTreeMap<&str, f64> =
        cores.filter(|(_, cores)| *cores >= LEAST_NAMED_CORES).collect();
    assert!(named.keys().eq(expected.keys()), "{named:?} {expected:?}");
    assert!(named.values().zip(expected.values()).all(|(a, b)| (a - b).abs() < 1e-6), "{named:?}");
}

#[test]
fn a_device_that_cuts_large_packets_has_lost_an_offload() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(&scratch, "ethtool -K port1 tso off gso off");
    let told =
        ReportedRun::with_flags(&scratch, &["--network", &network, "--workload", "tcp-stream"]);
    let finding = told.expect_finding(
        &network,
        "offload-lost",
        "offload lost at node-0:port1: the mean packet size falls from ",
    );
    let trial = told.trial(&network, "tcp-stream");
    let mean = |device: &str, way: &str| {
        let gain = |unit| counter(&trial, "node-0", &format!("/devices/{device}/{way}_{unit}"));
        gain("bytes") as f64 / gain("packets") as f64
    };
    assert!((number(finding, "before") - mean("port2", "rx")).abs() < 1e-6, "{finding}");
    assert!((number(finding, "after") - mean("port1", "tx")).abs() < 1e-6, "{finding}");
    // A packet of the device's MTU, with its Ethernet header.
    assert!(number(finding, "after") <= 1514.0, "{finding}");
}

#[test]
fn segments_are_sent_again_for_what_a_queue_drops() {
    let scratch = ScratchDirectory::new();
    let network = defective_network(
        &scratch,
        "tc qdisc add dev port1 root tbf rate 50mbit burst 10000 limit 20000",
    );
    let told =
        ReportedRun::with_flags(&scratch, &["--network", &network, "--workload", "tcp-stream"]);
    let finding = told.expect_finding(&network, "retransmitted", " segments were retransmitted (");
    let trial = told.trial(&network, "tcp-stream");
    let places = ["client-0", "server-0", "node-0"];
    let again = |place| counter(&trial, place, "/protocols/Tcp.RetransSegs");
    assert_eq!(finding["segments"], places.into_iter().map(again).sum::<u64>(), "{finding}");
    let first = list(finding, "drops").first().expect("what was dropped");
    let dropped = SavedCounters::read(&scratch).queue("port1", "tbf", "drops");
    assert_eq!(first["packets"], dropped, "{finding}");
    assert_eq!(text(first, "cause"), "queue", "{finding}");
    assert_eq!((text(first, "place"), text(first, "at")), ("node-0", "port1/tbf"), "{finding}");
    assert!(told.table.contains(" at the queue node-0:port1/tbf"), "{}", told.table);
}

#[test]
fn packets_that_do_not_fit_are_told_with_what_they_become() {
    let scratch = ScratchDirectory::new();
    // Fragments of 1500 bytes enter a tunnel with an MTU of 1450, and must be fragmented again.
    let shape = ["--nodes", "2", "--mtu", "1500", "--network", "vxlan,calico-vxlan"];
    let traffic = ["--workload", "udp-rate", "--size", "4000", "--rate", "20mbit"];
    let told = ReportedRun::with_flags(&scratch, &[shape, traffic].concat());
    for network in ["vxlan", "calico-vxlan"] {
        let words = "the client's MTU of 1500 exceeds the MTU of 1450 on the path: ";
        let finding = told.expect_finding(network, "fragmented", words);
        let trial = told.trial(network, "udp-rate");
        let gain = |name| counter(&trial, text(finding, "place"), &format!("/protocols/{name}"));
        assert_eq!(finding["packets"], gain("Ip.FragOKs"), "{finding}");
        assert_eq!(finding["fragments"], gain("Ip.FragCreates"), "{finding}");
        // A datagram of 4000 bytes is fragmented once, and the first two of its fragments once more.
        let sent = number(&trial["ends"], "datagrams_sent");
        let cut = number(finding, "packets");
        assert!(cut > 0.0 && cut <= 2.0 * (sent + 1.0), "{sent}: {finding}");
        assert!(number(finding, "fragments") >= 2.0 * number(finding, "packets"), "{finding}");
    }
    let cut = told.findings("vxlan", "fragmented")[0];
    assert_eq!(text(cut, "place"), "overlay-0", "{cut}");
    assert_eq!(number(cut, "fragments"), 2.0 * number(cut, "packets"), "{cut}");
    assert!(told.table.contains("(two fragments each)"), "{}", told.table);
    let words = " cores of one machine, without a NIC: ";
    assert!(number(told.expect_finding("vxlan", "one-machine", words), "cores") >= 1.0);
}

#[test]
fn a_path_that_fits_cuts_nothing() {
    let scratch = ScratchDirectory::new();
    let shape = ["--nodes", "2", "--network", "vxlan", "--workload", "udp-rate,tcp-stream"];
    let told = ReportedRun::with_flags(&scratch, &[&shape[..], &["--rate", "20mbit"]].concat());
    assert_eq!(told.findings("vxlan", "fragmented"), [] as [&Value; 0]);
}

#[test]
fn encryption_without_a_device_for_it_is_told() {
    let scratch = ScratchDirectory::new();
    let networks = "weave-sleeve,weave-sleeve-encrypted";
    let flags = ["--nodes", "2", "--network", networks, "--workload", "tcp-stream"];
    let told = ReportedRun::with_flags(&scratch, &flags);
    let kind = "encrypted-in-software";
    let finding =
        told.expect_finding("weave-sleeve-encrypted", kind, "traffic is encrypted in software by ");
    assert!(!text(finding, "by").is_empty(), "{finding}");
    assert_eq!(told.findings("weave-sleeve", kind), [] as [&Value; 0]);
}

/// Adds hardware counters to a trial: every core executed three instructions each ns, in two cycles.
fn add_counters(trial: &mut Value) {
    let samples = list(&trial["meanwhile"], "samples").iter().map(|sample| {
        let at = sample["at"].as_u64().expect("ns");
        json!({"at": at, "executed": [{"cycles": 2 * at, "instructions": 3 * at}]})
    });
    let samples: Vec<Value> = samples.collect();
    let hardware = json!({"counted": "agents", "running": 1.0, "samples": samples});
    trial["meanwhile"]["hardware"] = hardware;
}

#[test]
fn what_the_processor_counted_is_told_for_each_packet() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let flags = ["--network", "host", "--workload", "udp-rate", "--rate", "50mbit"];
    tare.run(&[&["run"], &TRIALS[..], &flags, &["--out", "out"]].concat()).expect(0);
    rewrite(&scratch.path("out"), add_counters);
    let told =
        ReportedRun::from_document(&tare, tare.run(&["report", "out", "--json"]).expect(0).json());
    let mean = |metric: &str| {
        let cell = told.cells().iter().find(|cell| cell["metric"] == metric);
        number(cell.unwrap_or_else(|| panic!("no cell for {metric}")), "mean")
    };
    // The number of packets per ns depends on the machine, and is recomputed from the journal.
    assert!((mean("instructions_per_packet") / mean("cycles_per_packet") - 1.5).abs() < 1e-6);
    assert!(told.table.contains("cycles_per_packet") && told.page.contains("cycles_per_packet"));
    let words = "hardware counters counted only tare's agents";
    assert!(told.table.contains(words) && told.page.contains(words), "{}", told.table);
    let metrics = tare.run(&["report", "out", "--openmetrics", "-"]).expect(0).text();
    assert!(metrics.contains("# UNIT tare_cycles_per_packet cycles_per_packet"), "{metrics}");
}

/// Every cell reports the measurement overhead. It has cycles and instructions, or `tare doctor` says why they are
/// missing.
#[test]
fn what_is_looked_at_and_what_that_costs_is_told() {
    let scratch = ScratchDirectory::new();
    let told =
        ReportedRun::with_flags(&scratch, &["--network", "host,bridge", "--workload", "udp-rate"]);
    for label in ["host", "bridge"] {
        let watched = told.findings(label, "watched");
        assert!(!watched.is_empty(), "{}", told.document["cells"]);
        let trial = told.trial(label, "udp-rate");
        let overhead = &trial["meanwhile"]["overhead"];
        let sampling = number(overhead, "sampling") / 1e9 / took(&trial);
        assert!(sampling > 0.0, "{overhead}");
        for one in watched {
            assert!((number(one, "sampling") - sampling).abs() < 1e-9, "{one}");
            assert_eq!(number(one, "runs"), number(&overhead["drops"], "runs"), "{one}");
        }
    }
    assert!(told.page.contains("measurement overhead: "), "it is not on the page");
    let tare = Tare::in_directory(scratch.root());
    let doctor = tare.run(&["doctor", "--json", "--settings"]).expect(0).json();
    let checks = list(&doctor, "checks");
    let check = checks.iter().find(|one| one["name"] == "hardware counters").expect("a check");
    let cycles = told.cells().iter().find(|cell| cell["metric"] == "cycles_per_packet");
    let named = ["run", "--network", "host", "--workload", "udp-rate", "--duration", "200ms"];
    let of_these = ["--interval", "20ms", "--metric", "cycles_per_packet", "--blocks", "1"];
    let named = tare.run(&[&named[..], &of_these, &["--out", "named"]].concat());
    if text(check, "detail").starts_with("not available: ") {
        assert_eq!(cycles, None, "nothing is said of what is not there");
        named.assert_error(1, &["cannot measure cycles_per_packet here: "]);
    } else {
        assert!(cycles.is_some(), "it is measured where it can be");
        named.expect(0);
    }
}
