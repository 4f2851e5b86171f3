//! Rules of Docker's iptables backend, as iptables-nft loads them.

use super::{BRIDGE, Communication, DockerRules, FamilyKeywords, keywords, lines};

/// Rule that leads to Docker's chains. Every forwarded packet passes it.
pub(super) const FORWARD: &str = "jump DOCKER-FORWARD";

/// Returns the rules of a bridge.
pub(super) fn rules(rules: &DockerRules<'_>) -> String {
    filter_table(rules) + &nat_table(rules) + &raw_table(rules)
}

fn filter_table(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    // The rule of the last port is the first.
    let published = lines(rules.server_ports().rev().map(|(server, transport, port)| {
        format!(
            "iifname != \"{BRIDGE}\" oifname \"{BRIDGE}\" {ip} daddr {server} {transport} dport {port} counter accept"
        )
    }));
    let within = format!("iifname \"{BRIDGE}\" oifname \"{BRIDGE}\"");
    let links = lines(rules.linked_ports().flat_map(|(client, server, transport, port)| {
        [
            format!(
                "{within} {ip} saddr {client} {ip} daddr {server} {transport} dport {port} counter accept"
            ),
            format!(
                "{within} {ip} saddr {server} {ip} daddr {client} {transport} sport {port} counter accept"
            ),
        ]
    }));
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
    let drops = lines(
        rules
            .addresses()
            .map(|address| format!("iifname != \"{BRIDGE}\" {ip} daddr {address} counter drop")),
    );
    format!(
        "table {ip} raw {{
  chain PREROUTING {{
    type filter hook prerouting priority raw; policy accept;
{drops}  }}
}}
"
    )
}
