//! Tests with Docker Engine 29, with iptables and with nftables as its firewall. Only root can start it.
//!
//! Without the programs of the engine, which `cargo xtask engine-programs` builds, every test is ignored with that reason.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failure fails the test"
)]

mod ends;
mod lab_rules;
mod networks;
mod rules;
mod sandbox;
mod swarm;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use support::engine::release::{Iptables, Nftables, is_built};

/// Reason of ignored tests, whose first words are in `xtask/src/expected_skips.rs`.
const NOT_BUILT: &str = "needs the programs of Docker Engine 29: make setup-engine";

/// Test of both firewalls: its name, and itself with each.
type FirewallCase = (&'static str, fn(), fn());

const BOTH: [FirewallCase; 8] = [
    (
        "networks::all_are_weighed_in_one_run",
        networks::all_are_weighed_in_one_run::<Iptables>,
        networks::all_are_weighed_in_one_run::<Nftables>,
    ),
    (
        "networks::ipv6_takes_the_same_path",
        networks::ipv6_takes_the_same_path::<Iptables>,
        networks::ipv6_takes_the_same_path::<Nftables>,
    ),
    (
        "networks::a_network_without_translation_is_used_by_its_name",
        networks::a_network_without_translation_is_used_by_its_name::<Iptables>,
        networks::a_network_without_translation_is_used_by_its_name::<Nftables>,
    ),
    (
        "rules::without_the_proxy_the_rule_that_masquerades_is_the_publisher",
        rules::without_the_proxy_the_rule_that_masquerades_is_the_publisher::<Iptables>,
        rules::without_the_proxy_the_rule_that_masquerades_is_the_publisher::<Nftables>,
    ),
    (
        "rules::further_ports_are_published_too",
        rules::further_ports_are_published_too::<Iptables>,
        rules::further_ports_are_published_too::<Nftables>,
    ),
    (
        "lab_rules::the_lab_has_the_rules_of_the_engine",
        lab_rules::the_lab_has_the_rules_of_the_engine::<Iptables>,
        lab_rules::the_lab_has_the_rules_of_the_engine::<Nftables>,
    ),
    (
        "ends::a_killed_run_leaves_what_clean_removes",
        ends::a_killed_run_leaves_what_clean_removes::<Iptables>,
        ends::a_killed_run_leaves_what_clean_removes::<Nftables>,
    ),
    (
        "ends::a_killed_engine_is_clean_once_it_is_back",
        ends::a_killed_engine_is_clean_once_it_is_back::<Iptables>,
        ends::a_killed_engine_is_clean_once_it_is_back::<Nftables>,
    ),
];

/// Tests of one firewall.
const SINGLE: [(&str, fn()); 6] = [
    (
        "sandbox::the_stack_of_gvisor_is_a_hop_with_its_time",
        sandbox::the_stack_of_gvisor_is_a_hop_with_its_time,
    ),
    (
        "rules::without_rules_the_proxy_is_the_publisher",
        rules::without_rules_the_proxy_is_the_publisher,
    ),
    (
        "rules::an_outside_address_is_translated_by_iptables",
        rules::an_outside_address_is_translated_by_iptables,
    ),
    (
        "rules::rules_of_iptables_are_refused_beside_nftables",
        rules::rules_of_iptables_are_refused_beside_nftables,
    ),
    ("swarm::iptables_serves_a_swarm", swarm::iptables_serves_a_swarm),
    ("swarm::nftables_excludes_a_swarm", swarm::nftables_excludes_a_swarm),
];

fn main() -> ExitCode {
    let both = BOTH.into_iter().flat_map(|(name, iptables, nftables)| {
        [("iptables", iptables), ("nftables", nftables)]
            .map(|(firewall, test)| (format!("{name}::{firewall}"), test))
    });
    let single = SINGLE.into_iter().map(|(name, test)| (name.to_owned(), test));
    let trials = both.chain(single).map(|(name, test)| trial(name, test)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: String, test: fn()) -> Trial {
    let trial = Trial::test(name, move || {
        test();
        Ok(())
    });
    if is_built() { trial } else { trial.with_kind(NOT_BUILT).with_ignored_flag(true) }
}
