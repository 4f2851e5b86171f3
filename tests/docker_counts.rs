//! What containers of Docker's count while trials run over them, on an engine of the tests' own: that it is theirs, and that
//! loss is placed by it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

use serde_json::Value;
use support::engine::Engine;
use support::{list, short_run, text};

/// What the only trial of a run over these networks counted in each namespace, network by network.
fn counted(engine: &Engine, networks: &[&str]) -> Vec<Value> {
    let names = networks.join(",");
    let asked = ["--network", &names, "--workload", "tcp-stream", "--blocks", "1", "--out", "out"];
    engine.tare().run(&short_run(&asked)).expect(0);
    let journal = engine.scratch().root().join("out/journal.jsonl");
    let journal = std::fs::read_to_string(journal).expect("the run keeps a journal");
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut trials: Vec<Value> = records.filter(|record| record["record"] == "trial").collect();
    let place = |trial: &Value| networks.iter().position(|name| trial["network"] == **name);
    trials.sort_by_key(place);
    trials.iter().map(|trial| trial["meanwhile"]["counted"]["places"].clone()).collect()
}

/// How much a device of a place gained.
fn gained(places: &Value, place: &str, device: &str, counter: &str) -> u64 {
    let places = places.as_array().expect("places");
    let one = places.iter().find(|one| one["place"] == place);
    let one = one.unwrap_or_else(|| panic!("{place} in {places:?}"));
    one["devices"][device][counter].as_u64().unwrap_or_else(|| panic!("{device} in {one}"))
}

#[test]
fn every_namespace_on_the_path_counts_what_passes_it() {
    /// Far more than agents say to one another, bytes.
    const MANY: u64 = 1_000_000;
    let engine = Engine::start();
    let networks = ["docker:bridge", "docker:container", "docker:host"];
    let [bridge, shared, host] = &counted(&engine, &networks)[..] else { panic!("three trials") };
    assert!(gained(bridge, "client-0", "eth0", "tx_bytes") > MANY, "{bridge}");
    assert!(gained(bridge, "server-0", "eth0", "rx_bytes") > MANY, "{bridge}");
    // Two containers in one namespace are counted once, as are two in the machine's own.
    for places in [shared, host] {
        assert!(gained(places, "client-0", "lo", "rx_bytes") > MANY, "{places}");
        assert_eq!(places.as_array().map(Vec::len), Some(1), "{places}");
    }
}

#[test]
fn a_socket_buffer_that_is_too_small_has_the_loss() {
    let engine = Engine::start();
    let what = ["--network", "docker:bridge", "--workload", "udp-rate", "--blocks", "1"];
    let how = ["--duration", "1s", "--interval", "50ms", "--json", "--out", "out"];
    let full = ["--rate", "800mbit", "--buffer", "4096"];
    let asked = [&["run"], &what[..], &how, &full].concat();
    let document = engine.tare().run(&asked).expect(0).json();
    let cells = list(&document, "cells");
    let cell = cells.iter().find(|cell| cell["metric"] == "loss").expect("a cell for loss");
    let placed = list(cell, "findings").iter().find(|one| one["kind"] == "loss-placed");
    let placed = placed.unwrap_or_else(|| panic!("the loss is placed in {cell}"));
    let part = &list(placed, "parts")[0];
    assert_eq!((text(part, "place"), text(part, "cause")), ("server-0", "socket-buffer"));
    let (packets, lost) = (part["packets"].as_u64().unwrap(), placed["lost"].as_u64().unwrap());
    assert!(packets as f64 > 0.95 * lost as f64, "{placed}");
}
