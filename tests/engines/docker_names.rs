//! Test of lookups by an engine's own resolver, from containers on a user's network.

use serde_json::Value;
use support::engine::Engine;
use support::{journal, list, text};

#[test]
fn the_engine_s_resolver_answers_for_the_client_s_own_name() {
    let engine = Engine::shared();
    let networks = "one=docker:user-bridge,two=docker:user-bridge";
    let asked = ["run", "--network", networks, "--workload", "dns-rr", "--resolver", "system"];
    let method = ["--blocks", "1", "--duration", "400ms", "--slice", "20ms", "--json"];
    let asked = [&asked[..], &method, &["--out", "out"]].concat();
    let document = engine.tare().run(&asked).expect(0).json();
    let is_rate = |cell: &&Value| cell["metric"] == "transactions";
    let rates: Vec<_> = list(&document, "cells").iter().filter(is_rate).collect();
    assert_eq!(rates.len(), 2, "{document}");
    for cell in rates {
        assert!(cell["mean"].as_f64().is_some_and(|rate| rate > 0.0), "{cell}");
    }
    for trial in journal::trials(&engine.scratch().path("out")) {
        // The resolver of a network in Docker (libnetwork/resolver.go), in the client's own namespace.
        let parameters = &trial["parameters"];
        assert_eq!(parameters["resolver_address"], "127.0.0.11:53", "{parameters}");
        // The engine gives a container the beginning of its identifier as its host name, and as an alias on the network.
        let name = text(parameters, "query_name");
        let is_identifier = name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_identifier, "{parameters}");
    }
}
