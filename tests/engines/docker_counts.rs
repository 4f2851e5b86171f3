//! Counters in the namespaces of Docker's containers during trials: they are the containers' own, and losses are
//! attributed by them.

use serde_json::Value;
use support::engine::Engine;
use support::{journal, list, short_run, text};

/// Returns the trials of a run over these networks, one for each network, in their order.
fn measured(engine: &Engine, networks: &[&str]) -> Vec<Value> {
    let names = networks.join(",");
    let asked = ["--network", &names, "--workload", "tcp-stream", "--blocks", "1", "--out", "out"];
    engine.tare().run(&short_run(&asked)).expect_measured();
    let mut trials = journal::trials(&engine.scratch().path("out"));
    let place = |trial: &Value| networks.iter().position(|name| trial["network"] == **name);
    trials.sort_by_key(place);
    trials
}

/// Returns the bytes that a device counted in a trial.
fn gained(trial: &Value, place: &str, device: &str, counter: &str) -> u64 {
    match journal::counter(trial, place, &format!("/devices/{device}/{counter}")) {
        0 => panic!("{device} of {place} counts {counter} in {}", trial["meanwhile"]["counted"]),
        bytes => bytes,
    }
}

#[test]
fn every_namespace_on_the_path_counts_what_passes_it() {
    let engine = Engine::shared();
    let networks = ["docker:bridge", "docker:container", "docker:host"];
    let trials = measured(&engine, &networks);
    let [bridge, shared, host] = &trials[..] else { panic!("three trials") };
    // Devices count the agents' traffic, with its headers.
    let received = |trial: &Value| trial["ends"]["received"].as_u64().expect("a counter");
    assert!(gained(bridge, "client-0", "eth0", "tx_bytes") > received(bridge), "{bridge}");
    assert!(gained(bridge, "server-0", "eth0", "rx_bytes") > received(bridge), "{bridge}");
    // Two containers in one namespace are counted once, as are two in the machine's own.
    for trial in [shared, host] {
        assert!(gained(trial, "client-0", "lo", "rx_bytes") > received(trial), "{trial}");
        assert_eq!(list(&trial["meanwhile"]["counted"], "places").len(), 1, "{trial}");
    }
}

#[test]
fn a_socket_buffer_that_is_too_small_has_the_loss() {
    let engine = Engine::shared();
    let what = ["--network", "docker:bridge", "--workload", "udp-rate", "--blocks", "1"];
    let how = ["--duration", "1s", "--interval", "50ms", "--json", "--out", "out"];
    // The sender does not wait for the receiver, with which it shares a core.
    let full = ["--rate", "10gbit", "--buffer", "4096", "--cpus", "same"];
    let asked = [&["run"], &what[..], &how, &full].concat();
    let document = engine.tare().run(&asked).expect(0).json();
    let cells = list(&document, "cells");
    let cell = cells.iter().find(|cell| cell["metric"] == "loss").expect("a cell for loss");
    let placed = list(cell, "findings").iter().find(|one| one["kind"] == "loss-placed");
    let placed = placed.unwrap_or_else(|| panic!("the loss is placed in {cell}"));
    let [part] = list(placed, "parts") else { panic!("one part: {placed}") };
    assert_eq!((text(part, "place"), text(part, "cause")), ("server-0", "socket-buffer"));
    let trial = &journal::trials(&engine.scratch().path("out"))[0];
    let full = journal::counter(trial, "server-0", "/protocols/Udp.RcvbufErrors");
    assert!(full > 0, "nothing was dropped: {placed}");
    assert_eq!(part["packets"], full, "{placed}");
    assert_eq!(placed["unplaced"], 0, "{placed}");
}
