//! The lab's rules are those that Docker Engine 29 loads: the same chains, with the same rules in the same order.

use rustix::process::Signal;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use support::engine::release::{Engine29, Firewall};

/// Rules of each chain, by the names of its table and itself.
type ChainRules = BTreeMap<String, Vec<String>>;

pub(crate) fn the_lab_has_the_rules_of_the_engine<F: Firewall>() {
    let engine = Engine29::<F>::with(&[]);
    let running = engine.start_endless_trial(&engine.tare(), "docker:published");
    let listed = engine.shell_output("nft --stateless list ruleset");
    running.signal(Signal::INT);
    running.wait();
    // Each of two servers publishes its port on an address of its own, as `docker:published` does.
    let network = format!("published+firewall={}", F::NAME);
    let shown = engine.tare().run(&["show", &network, "--servers", "2"]).expect(0).text();
    let load = format!(
        "unshare --net sh -euc 'nft -f - && nft --stateless list ruleset' <<'END'\n{}END",
        rule_file(&shown)
    );
    let loaded = engine.shell_output(&load);
    let expected = chains(&listed);
    assert!(expected.values().flatten().any(|rule| rule.contains("dnat")), "{listed}");
    assert_eq!(chains(&loaded), expected, "the lab:\n{loaded}\n\nthe engine:\n{listed}");
}

/// Returns the rules among the shown commands: what is between the lines that begin and end the input of nft.
fn rule_file(shown: &str) -> String {
    let after = shown.lines().skip_while(|line| !line.ends_with("nft -f - <<'END'")).skip(1);
    after.take_while(|line| *line != "END").map(|line| format!("{line}\n")).collect()
}

/// Returns the rules of IPv4 of all chains that have any.
fn chains(listing: &str) -> ChainRules {
    let (mut table, mut chain) = ("", "");
    let mut rules = ChainRules::new();
    for line in listing.lines().map(str::trim) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["table", family, name, "{"] => table = if family == "ip" { name } else { "" },
            ["chain" | "map", name, "{"] => chain = name,
            _ if table.is_empty() || line.is_empty() || line == "}" || line.starts_with('#') => {}
            _ => {
                let all = rules.entry(format!("{table} {chain}")).or_default();
                let rule = without_values(line);
                // Containers and ports have the same rules, one after the other.
                if !all.contains(&rule) {
                    all.push(rule);
                }
            }
        }
    }
    rules
}

/// Returns a rule without its comment, addresses and ports. The policy of a chain is left out too: dockerd sets it only
/// where forwarding was off before.
fn without_values(line: &str) -> String {
    let rule = line.split(" comment ").next().unwrap_or_default();
    let rule = rule.split(" policy ").next().unwrap_or_default();
    let words = rule.split_whitespace().map(|word| {
        let is_address = word.parse::<IpAddr>().is_ok_and(|address| !address.is_loopback());
        if is_address || word == "10.100.0.0/16" || word == "172.17.0.0/16" {
            "ADDRESS"
        } else if word.parse::<SocketAddr>().is_ok() {
            "ADDRESS:PORT"
        } else if word.parse::<u16>().is_ok() {
            "PORT"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ").replace("established,related", "related,established")
}
