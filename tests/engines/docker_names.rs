//! Test of lookups by an engine's own resolver, from a container on a user's network.

use support::engine::Engine;
use support::list;

#[test]
fn the_engine_s_resolver_answers_for_the_client_s_own_name() {
    let engine = Engine::shared();
    let network = "docker:user-bridge";
    let asked = ["run", "--network", network, "--workload", "dns-rr", "--resolver", "system"];
    let method = ["--blocks", "1", "--duration", "400ms", "--slice", "off", "--json"];
    let document = engine.tare().run(&[&asked[..], &method].concat()).expect(0).json();
    let is_rate = |cell: &&serde_json::Value| cell["metric"] == "transactions";
    let cell = list(&document, "cells").iter().find(is_rate).expect("a rate");
    assert!(cell["mean"].as_f64().is_some_and(|rate| rate > 0.0), "{cell}");
    // The resolver of a network in Docker (libnetwork/resolver.go), in the client's own namespace.
    assert_eq!(cell["parameters"]["resolver_address"], "127.0.0.11:53", "{cell}");
    // The engine gives a container the beginning of its identifier as its host name, and as an alias on the network.
    let name = cell["parameters"]["query_name"].as_str().unwrap_or_default();
    assert!(name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{cell}");
}
