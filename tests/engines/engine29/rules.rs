//! Rules of Docker Engine 29 for published ports: a rule, a rule that masquerades, and the userland proxy are told apart.

use rustix::process::Signal;
use serde_json::Value;
use support::engine::release::{Engine29, Firewall, Iptables, Nftables};
use support::shared::SharedResource as _;
use support::{hops, list, short_run, text};

const NETWORK: &str = "docker:published";

/// Returns the name of the first hop of `docker:published`, and the last word of its detail.
fn publisher(document: &Value) -> (String, String) {
    let hop = &list(&list(document, "cells")[0], "hops")[0];
    let last = text(hop, "detail").rsplit(' ').next().unwrap_or_default();
    (text(hop, "name").to_owned(), last.to_owned())
}

pub(crate) fn without_the_proxy_the_rule_that_masquerades_is_the_publisher<F: Firewall>() {
    let engine = Engine29::<F>::with(&["--userland-proxy=false"]);
    let before = engine.inventory();
    // Each run has a directory of its network's name.
    for (network, family) in [(NETWORK, "ipv4"), ("docker:published+unconfined", "ipv6")] {
        let document = engine.run_once(network, &["--family", family]);
        let expected = (F::PORT_RULES.to_owned(), "masquerade".to_owned());
        assert_eq!(publisher(&document), expected, "{family}");
    }
    assert_eq!(engine.inventory(), before);
}

pub(crate) fn further_ports_are_published_too<F: Firewall>() {
    let engine = Engine29::<F>::with(&[]);
    let running = engine.start_endless_trial(&engine.tare(), "docker:published+ports=7");
    let rules = engine.shell_output("nft --stateless list ruleset | grep -c 'dnat to'");
    running.signal(Signal::INT);
    running.wait();
    assert_eq!(rules, "16", "one of the workload and seven more, over TCP and over UDP");
}

pub(crate) fn without_rules_the_proxy_is_the_publisher() {
    let engine = Engine29::<Iptables>::with(&["--iptables=false", "--ip6tables=false"]);
    let document = engine.run_once(NETWORK, &[]);
    assert_eq!(publisher(&document).0, "docker-proxy");
}

/// Returns the result of `docker:bridge+macvlan-nat`, which root wires by hand beside the engine.
fn translate_by_hand<F: Firewall>(engine: &Engine29<F>, code: i32) -> Value {
    let out = engine.scratch().path("out");
    let out = out.to_str().expect("a plain path");
    let asked = ["--network", "docker:bridge+macvlan-nat", "--blocks", "1", "--out", out, "--json"];
    engine.tare_beside(&short_run(&asked)).expect(code).json()
}

pub(crate) fn an_outside_address_is_translated_by_iptables() {
    let engine = Engine29::<Iptables>::shared();
    let before = engine.inventory();
    let document = translate_by_hand(&engine, 0);
    let hops = hops(&document, "docker:bridge+macvlan-nat");
    assert!(hops.contains(&"node-0:nat/PREROUTING".to_owned()), "{hops:?}");
    assert_eq!(engine.inventory(), before);
}

pub(crate) fn rules_of_iptables_are_refused_beside_nftables() {
    let engine = Engine29::<Nftables>::shared();
    let document = translate_by_hand(&engine, 1);
    let skipped = &list(&document, "skipped")[0];
    assert!(text(skipped, "reason").contains("is nftables, which drops"), "{skipped}");
    assert!(text(skipped, "remedy").contains("--firewall-backend=iptables"), "{skipped}");
}
