//! Docker's networks woven: all are up at once, and measured in slices.

use super::docker::on_default_bridge;
use support::engine::Engine;
use support::journal::trials;
use support::shared::SharedResource as _;
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
    let compared =
        list(&document, "cells").iter().filter(|cell| cell["ratio"]["plain"].is_number());
    assert!(compared.count() >= 3 * 2, "three networks in two workloads have ratios of rounds");
    assert_eq!(engine.inventory(), before);
}
