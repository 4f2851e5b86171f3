//! Rules of Docker's iptables backend, as iptables-nft loads them.

use super::{
    BRIDGE, Communication, DockerRules, FamilyKeywords, LinkedContainer, TRANSPORTS, add_line,
    keywords,
};
use std::fmt::Write;

/// Rule that leads to Docker's chains. Every forwarded packet passes it.
pub(super) const FORWARD: &str = "jump DOCKER-FORWARD";

/// Returns the rules of a bridge.
pub(super) fn rules(rules: &DockerRules<'_>) -> String {
    filter_table(rules) + &nat_table(rules) + &raw_table(rules)
}

fn filter_table(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let published = accept_rules(rules);
    let links: String =
        rules.communication.links().iter().map(|link| link_rules(rules, link)).collect();
    let from_bridge = match rules.communication {
        Communication::All => format!("    iifname \"{BRIDGE}\" counter accept\n"),
        Communication::Linked(_) => format!(
            "    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" counter drop
    iifname \"{BRIDGE}\" oifname != \"{BRIDGE}\" counter accept
"
        ),
    };
    format!(
        "table {ip} filter {{
  chain DOCKER-USER {{
  }}
  chain DOCKER-INTERNAL {{
  }}
  chain DOCKER {{
{published}    iifname != \"{BRIDGE}\" oifname \"{BRIDGE}\" counter drop
{links}  }}
  chain DOCKER-BRIDGE {{
    oifname \"{BRIDGE}\" counter jump DOCKER
  }}
  chain DOCKER-CT {{
    oifname \"{BRIDGE}\" ct state related,established counter accept
  }}
  chain DOCKER-FORWARD {{
    counter jump DOCKER-CT
    counter jump DOCKER-INTERNAL
    counter jump DOCKER-BRIDGE
{from_bridge}  }}
  chain FORWARD {{
    type filter hook forward priority filter; policy drop;
    counter jump DOCKER-USER
    counter {FORWARD}
  }}
}}
"
    )
}

/// Returns the rules that accept packets for published ports: that of the last port is the first.
fn accept_rules(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let mut text = String::new();
    for one in rules.published.iter().rev() {
        let server = one.server.address(rules.family);
        for transport in TRANSPORTS.into_iter().rev() {
            add_line(
                &mut text,
                format_args!(
                    "iifname != \"{BRIDGE}\" oifname \"{BRIDGE}\" {ip} daddr {server} {transport} dport {} counter accept",
                    one.port
                ),
            );
        }
    }
    text
}

/// Returns the rules of a link in both directions.
fn link_rules(rules: &DockerRules<'_>, link: &LinkedContainer) -> String {
    let ip = keywords(rules.family).ip;
    let (client, server) = (link.client.address(rules.family), link.server.address(rules.family));
    let port = link.port;
    let mut text = String::new();
    for transport in TRANSPORTS {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" {ip} saddr {client} {ip} daddr {server} {transport} dport {port} counter accept
    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" {ip} saddr {server} {ip} daddr {client} {transport} sport {port} counter accept"
        );
    }
    text
}

fn nat_table(rules: &DockerRules<'_>) -> String {
    let FamilyKeywords { ip, loopback, .. } = keywords(rules.family);
    let translations = rules.translations();
    let subnet = rules.subnet.prefix(rules.family);
    format!(
        "table {ip} nat {{
  chain DOCKER {{
{translations}  }}
  chain PREROUTING {{
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local counter jump DOCKER
  }}
  chain OUTPUT {{
    type nat hook output priority -100; policy accept;
    {ip} daddr != {loopback} fib daddr type local counter jump DOCKER
  }}
  chain POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    oifname != \"{BRIDGE}\" {ip} saddr {subnet} counter masquerade
  }}
}}
"
    )
}

/// Returns the table `raw`: packets reach a container by its own address only through its bridge.
fn raw_table(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let mut drops = String::new();
    for container in rules.containers {
        let address = container.address(rules.family);
        add_line(
            &mut drops,
            format_args!("iifname != \"{BRIDGE}\" {ip} daddr {address} counter drop"),
        );
    }
    format!(
        "table {ip} raw {{
  chain PREROUTING {{
    type filter hook prerouting priority raw; policy accept;
{drops}  }}
}}
"
    )
}
