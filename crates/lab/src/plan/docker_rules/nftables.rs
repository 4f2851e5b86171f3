//! Rules of Docker's nftables backend: the table `docker-bridges`, in which each bridge has chains of its own that maps
//! of device names lead to.

use super::{
    BRIDGE, Communication, DockerRules, FamilyKeywords, LinkedContainer, TRANSPORTS, add_line,
    keywords,
};
use std::fmt::Write;

/// Part of the rule that the first packet passes of each connection between containers.
pub(super) const FORWARD: &str = "iifname \"docker0\" counter";

/// Part of a rule that all further packets of a connection pass.
const ESTABLISHED: &str = "ct state established,related";

/// Rule that leads to the chains of the bridge by which a packet leaves.
pub(super) const FORWARD_JUMP: &str = "oifname vmap @filter-forward-in-jumps";

/// Returns the rules of a bridge.
pub(super) fn rules(rules: &DockerRules<'_>) -> String {
    let FamilyKeywords { ip, loopback, .. } = keywords(rules.family);
    let jumps: String =
        ["filter-forward-in", "filter-forward-out", "nat-postrouting-in", "nat-postrouting-out"]
            .into_iter()
            .map(jump_map)
            .collect();
    let (translations, drops) = (rules.translations(), direct_access_drops(rules));
    let bridge_chains = bridge_chains(rules);
    format!(
        "table {ip} docker-bridges {{
{jumps}  chain filter-FORWARD {{
    type filter hook forward priority filter; policy accept;
    {FORWARD_JUMP}
    iifname vmap @filter-forward-out-jumps
  }}
  chain nat-OUTPUT {{
    type nat hook output priority -100; policy accept;
    {ip} daddr != {loopback} fib daddr type local counter jump nat-prerouting-and-output
  }}
  chain nat-POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    iifname vmap @nat-postrouting-out-jumps
    oifname vmap @nat-postrouting-in-jumps
  }}
  chain nat-PREROUTING {{
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local counter jump nat-prerouting-and-output
  }}
  chain nat-prerouting-and-output {{
{translations}  }}
  chain raw-PREROUTING {{
    type filter hook prerouting priority raw; policy accept;
{drops}  }}
{bridge_chains}}}
"
    )
}

/// Returns a map from the bridge to its chain.
fn jump_map(chain: &str) -> String {
    format!(
        "  map {chain}-jumps {{
    type ifname : verdict
    elements = {{ \"{BRIDGE}\" : jump {chain}__{BRIDGE} }}
  }}
"
    )
}

/// Returns the chains of the bridge.
fn bridge_chains(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let links: String =
        rules.communication.links().iter().map(|link| link_rules(rules, link)).collect();
    let among_containers = match rules.communication {
        Communication::All => "accept",
        Communication::Linked(_) => "drop",
    };
    let published = accept_rules(rules);
    let subnet = rules.subnet.prefix(rules.family);
    format!(
        "  chain filter-forward-in__{BRIDGE} {{
    {ESTABLISHED} counter accept
{links}    {FORWARD} {among_containers}
{published}    counter drop
  }}
  chain filter-forward-out__{BRIDGE} {{
    {ESTABLISHED} counter accept
    counter accept
  }}
  chain nat-postrouting-in__{BRIDGE} {{
  }}
  chain nat-postrouting-out__{BRIDGE} {{
    oifname != \"{BRIDGE}\" {ip} saddr {subnet} counter masquerade
  }}
"
    )
}

/// Returns the rules that accept packets for published ports.
fn accept_rules(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let mut text = String::new();
    for one in rules.published {
        let server = one.server.address(rules.family);
        for transport in TRANSPORTS {
            let port = one.port;
            add_line(
                &mut text,
                format_args!("{ip} daddr {server} {transport} dport {port} counter accept"),
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
            "    {ip} saddr {client} {ip} daddr {server} {transport} dport {port} counter accept
    {ip} saddr {server} {transport} sport {port} {ip} daddr {client} counter accept"
        );
    }
    text
}

/// Returns the rules by which packets reach a container by its own address only through its bridge.
fn direct_access_drops(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let mut text = String::new();
    for container in rules.containers {
        let address = container.address(rules.family);
        add_line(
            &mut text,
            format_args!("{ip} daddr {address} iifname != \"{BRIDGE}\" counter drop"),
        );
    }
    text
}
