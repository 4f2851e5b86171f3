//! Test of lookups by an engine's own resolver, from a container on a user's network.

use support::engine::Engine;
use support::list;

#[test]
fn the_engine_s_resolver_answers_for_the_client_s_own_name() {
    let engine = Engine::shared();
    let networks = "one=docker:user-bridge,two=docker:user-bridge";
    let asked = ["run", "--network", networks, "--workload", "dns-rr", "--resolver", "system"];
    let method = ["--blocks", "1", "--duration", "400ms", "--slice", "20ms", "--json"];
    let document = engine.tare().run(&[&asked[..], &method].concat()).expect(0).json();
    let is_rate = |cell: &&serde_json::Value| cell["metric"] == "transactions";
    let rates: Vec<_> = list(&document, "cells").iter().filter(is_rate).collect();
    assert_eq!(rates.len(), 2, "{document}");
    for cell in rates {
        assert_is_looked_up(cell);
    }
}

/// Asserts that a cell has lookups of its client's own name.
fn assert_is_looked_up(cell: &serde_json::Value) {
    assert!(cell["mean"].as_f64().is_some_and(|rate| rate > 0.0), "{cell}");
    // The resolver of a network in Docker (libnetwork/resolver.go), in the client's own namespace.
    assert_eq!(cell["parameters"]["resolver_address"], "127.0.0.11:53", "{cell}");
    // The engine gives a container the beginning of its identifier as its host name, and as an alias on the network.
    let name = cell["parameters"]["query_name"].as_str().unwrap_or_default();
    assert!(name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{cell}");
}
