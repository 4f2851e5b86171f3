//! Tests of the published studies, run by name.

use serde_json::Value;
use support::journal::{rewrite, set_rate};
use support::program::Tare;
use support::{ScratchDirectory, list, schema, text};

/// Returns arguments for a study as short as possible, with the networks and workloads that this machine supports.
fn short<'a>(study: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let least = ["--duration", "100ms", "--interval", "10ms", "--warmup", "auto", "--blocks", "2"];
    [&["run", study, "--json", "--out", "out"], &least[..], more].concat()
}

#[test]
fn the_one_node_study_stands_beside_what_was_published() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let document = tare.run(&short("one-node-2016", &[])).expect(0).json();
    schema::check(&document, "run.json");
    let figures = list(&document["rerun"], "figures");
    assert_eq!(figures.len(), 9);
    for figure in figures {
        assert!(!figure["measured"].is_null(), "all its networks are in this build: {figure}");
        assert!(figure["published_ratio"].is_number(), "{figure}");
    }
    let bridge = &figures[1];
    assert_eq!(bridge["published"]["text"], "2.23");
    let ratio = bridge["published_ratio"].as_f64().expect("a ratio");
    assert!((ratio - 2.23 / 24.38).abs() < 1e-12);
    // The measured ratio is that of the cell.
    let cells = list(&document, "cells");
    let throughput: Vec<&Value> =
        cells.iter().filter(|cell| cell["metric"] == "throughput").collect();
    let cell = throughput
        .iter()
        .find(|cell| cell["label"] == "bridge" && cell["shape"]["family"] == "ipv4")
        .expect("it was measured");
    assert_eq!(bridge["measured"]["ratio"], cell["ratio"]["value"]);
    // Sections: without iptables there is no IPv6.
    let plain: Vec<&&Value> =
        throughput.iter().filter(|cell| cell["label"] == "bridge-no-iptables").collect();
    assert!(plain.iter().all(|cell| cell["shape"]["family"] == "ipv4"), "{plain:?}");
    assert_eq!(plain.len(), 1);
    // With or without netperf in this build, the figures are the study's.
    let conclusions = list(&document["rerun"], "conclusions");
    let results: Vec<&str> = conclusions.iter().map(|one| text(one, "result")).collect();
    assert!(results.iter().all(|one| ["holds", "fails", "undecidable"].contains(one)));
    // What the kernel says of a network is the same in every block.
    let decided = |claim: &str| {
        let one = conclusions.iter().find(|one| text(one, "claim").contains(claim));
        let one = one.unwrap_or_else(|| panic!("no conclusion says {claim}"));
        (text(one, "result"), text(one, "reason"))
    };
    let (result, reason) = decided("available ports on bridge");
    assert_eq!(result, "holds", "{reason}");
    assert!(reason.contains("bridge_ports") && reason.contains("in each of 2 blocks"), "{reason}");
    assert_eq!(decided("does provide a way").0, "holds");
    assert_eq!(decided("no communication with the outside world").0, "holds");
    let (result, reason) = decided("do not give the containers access");
    assert_eq!(result, "fails", "a shared namespace has its container's way out: {reason}");
    let ports = cells
        .iter()
        .find(|cell| cell["label"] == "bridge-1000" && cell["metric"] == "bridge_ports");
    let ports = ports.expect("it was filled")["mean"].as_f64().expect("a figure");
    assert!(ports > 1000.0, "its containers are on it: {ports}");
    let told = tare.run(&["report", "out"]).expect(0).text();
    for words in ["reproduction", "22.45", "GB/sec", "tau", "assumed", "2 blocks: no interval"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let markdown = tare.run(&["report", "out", "--markdown"]).expect(0).text();
    assert!(markdown.contains("| repetitions | 10 blocks |  | 2 blocks |"), "{markdown}");
    let protocol = list(&document["rerun"], "protocol");
    let duration = protocol.iter().find(|one| one["field"] == "duration").expect("a duration");
    assert_eq!(duration["differs"], true, "{duration}");
    assert!(text(duration, "here").starts_with("100ms"), "what was run: {duration}");
}

#[test]
fn what_a_study_names_and_this_build_lacks_is_skipped_and_a_user_is_told() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    for study in ["icc-2014", "ec2-overlays-2015", "mysql-multihost-2016", "probe-latency-2015"] {
        let plan = tare.run(&["run", study, "--dry-run", "--json"]).expect(0).json();
        schema::check(&plan, "plan.json");
        assert!(!list(&plan["publication"], "figures").is_empty());
        assert!(plan["refused"].is_null(), "the study named them, not the user: {plan}");
        let scaled = tare.run(&["run", study, "--dry-run", "--json", "--scaled"]).expect(0).json();
        assert_eq!(scaled["publication"]["scale"], "scaled");
        let finding = list(&scaled, "findings").iter().find(|one| one["kind"] == "scaled");
        assert!(finding.is_some(), "it says so: {scaled}");
    }
    // A network that does not exist is still an error if the user names it.
    tare.run(&["run", "one-node-2016", "--network", "moon"])
        .assert_error(2, &["unknown network `moon`"]);
    scratch.write_file("mine.toml", "networks = [\"moon\"]\n");
    tare.run(&["run", "mine.toml"]).assert_error(2, &["unknown network `moon`"]);
}

#[test]
fn a_study_of_ones_own_has_sections_published_figures_and_conclusions_too() {
    let scratch = ScratchDirectory::new();
    scratch.write_file(
        "mine.toml",
        "networks = [\"host\", \"slow=bridge+rate=100mbit\"]\n\
         metrics = [\"throughput\"]\n\
         [method]\n\
         blocks = 3\n\
         interval = \"10ms\"\n\
         duration = \"100ms\"\n\
         [[run]]\n\
         networks = [\"host\"]\n\
         shape = [{ flows = [2] }]\n\
         [[run]]\n\
         [[run.workload]]\n\
         name = \"no-such-tool\"\n\
         stand-in = { name = \"tcp-stream\" }\n\
         [[published]]\n\
         table = \"then\"\n\
         workload = \"no-such-tool\"\n\
         metric = \"throughput\"\n\
         unit = \"Mb/s\"\n\
         figures = [{ network = \"slow\", value = 100.0, text = \"100 Mb/s\" }]\n\
         [[conclusion]]\n\
         claim = \"slow is slow\"\n\
         [[conclusion.test]]\n\
         left = { network = \"slow\", workload = \"no-such-tool\", metric = \"throughput\" }\n\
         is = \"below\"\n\
         right = { network = \"host\", workload = \"no-such-tool\", metric = \"throughput\" }\n\
         times = 0.9\n\
         [[run.workload]]\n",
    );
    let tare = Tare::in_directory(scratch.root());
    // The last line is an incomplete workload: the error has its position.
    tare.run(&["run", "mine.toml"]).assert_error(2, &["mine.toml:"]);
    let text_of = std::fs::read_to_string(scratch.path("mine.toml")).expect("it was written");
    scratch.write_file("mine.toml", text_of.trim_end_matches("[[run.workload]]\n"));
    let run = ["run", "mine.toml", "--workload", "no-such-tool", "--json", "--out", "out"];
    let document = tare.run(&run).expect(0).json();
    // The same run with known rates: the conclusions follow from them.
    for (slow, result) in [(100e6, "holds"), (1e9, "fails")] {
        rewrite(&scratch.path("out"), |trial| {
            let block = trial["block"].as_f64().expect("a number");
            let rate = if trial["label"] == "slow" { slow } else { 1e9 };
            set_rate(trial, rate * (1.0 + block / 1000.0));
        });
        let known = tare.run(&["report", "out", "--json"]).expect(0).json();
        let rerun = &known["rerun"];
        let measured = list(rerun, "figures")[0]["measured"]["value"].as_f64().expect("a figure");
        assert!((measured / (slow / 1e9 * 1.001) - 1.0).abs() < 1e-6, "{rerun}");
        assert_eq!(list(rerun, "conclusions")[0]["result"], result, "{rerun}");
    }
    let stand_in = list(&document, "findings").iter().find(|one| one["kind"] == "stand-in");
    assert_eq!(stand_in.map(|one| text(one, "used")), Some("tcp-stream"), "{document}");
}

#[test]
fn workloads_that_are_named_are_measured_whatever_the_study_asks_for() {
    let scratch = ScratchDirectory::new();
    let tare = Tare::in_directory(scratch.root());
    let asked = ["run", "--quick", "--workload", "udp-search,tcp-crr,udp-rate,idle"];
    let plan = tare.run(&[&asked[..], &["--dry-run", "--json"]].concat()).expect(0).json();
    let found: Vec<(&str, &Value)> = list(&plan, "workloads")
        .iter()
        .map(|workload| (text(workload, "name"), &workload["metrics"]))
        .collect();
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["udp-search", "tcp-crr", "udp-rate", "idle"]);
    for (index, metric) in ["ndr", "connections", "loss", "cpu_busy"].into_iter().enumerate() {
        let (name, metrics) = found[index];
        assert!(metrics.as_array().expect("a list").contains(&metric.into()), "{name}: {metrics}");
    }
}
