//! Networks of Docker, of a Swarm and of two engines, woven: all are up at once, and measured in slices.

use super::docker::on_default_bridge;
use super::swarm::{RuleCounter, VXLAN, contexts};
use serde_json::Value;
use std::path::Path;
use support::engine::Engine;
use support::journal::trials;
use support::shared::SharedResource as _;
use support::swarm::Swarm;
use support::{list, text};

#[test]
fn dockers_networks_are_woven_and_each_counts_its_own_bytes() {
    let engine = Engine::shared();
    let before = engine.inventory();
    let networks = "docker:host,docker:bridge,docker:published,docker:container";
    let asked = ["run", "--network", networks, "--workload", "tcp-stream,tcp-rr", "--blocks", "2"];
    let sliced = ["--slice", "20ms", "--duration", "1s", "--json", "--out", "woven"];
    let on_bridge = on_default_bridge(&engine);
    let document = engine.tare().run(&[&asked[..], &sliced].concat()).expect(0).json();
    let passed = on_default_bridge(&engine) - on_bridge;
    let trials = trials(&engine.scratch().path("woven"));
    assert_eq!(trials.len(), 2 * 2 * 4);
    let mut received = [0, 0];
    for trial in &trials {
        // A second in slices of 20 ms.
        assert_eq!(trial["slices"]["plan"]["rounds"], 50, "{}", trial["label"]);
        assert_eq!(list(&trial["slices"], "began").len(), 50);
        let bytes = trial["ends"]["received"].as_u64().unwrap_or(0);
        assert!(bytes > 0 || trial["workload"] == "tcp-rr", "{}", trial["label"]);
        let crosses = matches!(text(trial, "label"), "docker:bridge" | "docker:published");
        received[usize::from(crosses)] += bytes;
    }
    // The bridge also counts headers and round trips, which are far less than the bulk that does not cross it.
    let [apart, crossed] = received;
    assert!(passed >= crossed, "{passed} of {crossed} bytes");
    assert!(passed < crossed + apart, "{passed} of {crossed} and {apart} bytes");
    // A busy machine may leave a network without a figure in one of the blocks, or with rounds in which nothing arrived,
    // which have no ratio. All others are compared by their rounds.
    let is_compared = |cell: &&Value| cell["metric"] == "throughput" && cell["ratio"].is_object();
    let compared: Vec<&Value> = list(&document, "cells").iter().filter(is_compared).collect();
    assert!(!compared.is_empty(), "{document}");
    for cell in compared {
        let baseline = text(&cell["ratio"], "baseline");
        let has_empty_round = [text(cell, "label"), baseline]
            .iter()
            .any(|label| trials.iter().any(|trial| has_empty_round(trial, label)));
        assert!(cell["ratio"]["plain"].is_number() || has_empty_round, "{cell}");
    }
    assert_eq!(engine.inventory(), before);
}

/// Returns true if a trial of bulk over this network has a round in which nothing arrived.
fn has_empty_round(trial: &Value, label: &str) -> bool {
    let is_bulk = trial["workload"] == "tcp-stream" && trial["label"] == *label;
    let rounds = list(trial, "series").iter().flat_map(|client| list(client, "intervals"));
    is_bulk && rounds.into_iter().any(|round| round["bytes"] == 0)
}

/// Returns the arguments of a woven run of networks over TCP on two nodes, with slices that are too short for it.
fn two_nodes<'a>(networks: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["run", "--network", networks, "--workload", "tcp-stream", "--blocks", "1"];
    let sliced = ["--slice", "20ms", "--duration", "500ms", "--nodes", "2", "--json"];
    [&asked[..], &sliced, more].concat()
}

/// Returns the trials of a woven run on two nodes by label, all of which sent what was received, in slices that are long
/// enough.
#[track_caller]
fn remote_trials(directory: &Path, labels: &[&str]) -> Vec<Value> {
    let mut trials = trials(directory);
    trials.sort_by_key(|trial| labels.iter().position(|label| *label == text(trial, "label")));
    assert_eq!(trials.iter().map(|trial| text(trial, "label")).collect::<Vec<_>>(), labels);
    for trial in &trials {
        let plan = &trial["slices"]["plan"];
        assert_eq!((&plan["rounds"], &plan["length"]), (&10.into(), &50_000_000.into()));
        assert_eq!(trial["ends"]["sent"], trial["ends"]["received"], "{}", trial["label"]);
        assert_ne!(trial["ends"]["received"], 0, "{}", trial["label"]);
    }
    trials
}

#[test]
fn a_swarms_networks_are_woven_and_each_takes_its_own_path() {
    let swarm = Swarm::shared();
    let before = swarm.inventory();
    let vxlan = RuleCounter::new(swarm.engine(1), VXLAN);
    swarm.run(&two_nodes("swarm:host,swarm:overlay", &["--out", "woven"])).expect(0);
    let passed = vxlan.bytes();
    let directory = swarm.engine(0).scratch().path("woven");
    let trials = remote_trials(&directory, &["swarm:host", "swarm:overlay"]);
    let received = |trial: &Value| trial["ends"]["received"].as_u64().unwrap_or(0);
    let (apart, encapsulated) = (received(&trials[0]), received(&trials[1]));
    assert!(passed >= encapsulated, "{passed} of {encapsulated} bytes");
    assert!(passed < encapsulated + apart, "{passed} of {encapsulated} and {apart} bytes");
    swarm.assert_nothing_left(&before);
}

#[test]
fn networks_of_two_engines_are_woven() {
    let swarm = Swarm::shared();
    let machines = swarm.machines();
    let directory = contexts(machines, &["near", "far"]);
    let before = [0, 1].map(|index| machines.engine(index).inventory());
    let tare = machines.engine(0).tare();
    let tare = tare.with_variable("DOCKER_CONFIG", directory.to_str().expect("a plain path"));
    let contexts = ["--server-context", "far", "--client-context", "near", "--out", "apart"];
    tare.run(&two_nodes("docker:host,docker:published", &contexts)).expect(0);
    let directory = machines.engine(0).scratch().path("apart");
    remote_trials(&directory, &["docker:host", "docker:published"]);
    assert_eq!([0, 1].map(|index| machines.engine(index).inventory()), before);
}
