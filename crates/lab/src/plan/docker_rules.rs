//! Netfilter rules that Docker installs, in nft's syntax.
//!
//! A current dockerd (28 and later) installs them through iptables-nft. These are the equivalent native rules, in the
//! same tables, chains and order, each with the counter that iptables gives every rule. Source: moby,
//! `integration/network/bridge/iptablesdoc/generated` (host) and `libnetwork/resolver_unix.go` (container).

use crate::plan::address::{InterfaceSlot, LabSubnet};
use std::fmt::Write;
use std::net::SocketAddr;
use tare_network::Family;

/// Name of Docker's default bridge.
pub(crate) const BRIDGE: &str = "docker0";

/// Port of a server that is published on addresses of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublishedPort {
    /// Address of the node if the port is published on that one only (`-p ADDRESS:PORT:PORT`).
    pub(crate) host_address: Option<InterfaceSlot>,
    /// Port on the node.
    pub(crate) port: u16,
    /// Address of the server.
    pub(crate) server: InterfaceSlot,
}

/// Client that is linked to a server (`docker run --link`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkedContainer {
    /// Address of the client.
    pub(crate) client: InterfaceSlot,
    /// Address of the server.
    pub(crate) server: InterfaceSlot,
    /// Port that the server's image exposes.
    pub(crate) port: u16,
}

/// Keywords of an IP family in nft's language.
struct FamilyKeywords {
    table: &'static str,
    address: &'static str,
    loopback: &'static str,
    family: Family,
}

fn keywords(family: Family) -> FamilyKeywords {
    match family {
        Family::Ipv4 => {
            FamilyKeywords { table: "ip", address: "ip", loopback: "127.0.0.0/8", family }
        }
        Family::Ipv6 => FamilyKeywords { table: "ip6", address: "ip6", loopback: "::1", family },
    }
}

/// Rule that sends connections on to Docker's chains. Every forwarded packet passes it first.
pub(crate) const FORWARD: &str = "jump DOCKER-FORWARD";

/// Returns the rules on a node with the default bridge and these published ports.
pub(crate) fn host_rules(family: Family, subnet: LabSubnet, published: &[PublishedPort]) -> String {
    let words = keywords(family);
    let talking = format!("    iifname \"{BRIDGE}\" counter accept\n");
    let mut text = filter_table(&words, &accept_rules(&words, published), &talking);
    text.push_str(&nat_table(&words, subnet, published));
    if !published.is_empty() {
        text.push_str(&raw_table(&words, published));
    }
    text
}

/// Both transports, because a published port does not depend on the transport of its workload.
const TRANSPORTS: [&str; 2] = ["tcp", "udp"];

/// Returns the rules on a node whose default bridge lets only linked containers communicate (`dockerd --icc=false`).
pub(crate) fn linked_rules(
    family: Family,
    subnet: LabSubnet,
    linked: &[LinkedContainer],
) -> String {
    let words = keywords(family);
    let accepted: String = linked.iter().map(|one| link_rules(&words, one)).collect();
    let silent = format!(
        "    iifname \"{BRIDGE}\" oifname != \"{BRIDGE}\" counter accept
    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" counter drop
"
    );
    filter_table(&words, &accepted, &silent) + &nat_table(&words, subnet, &[])
}

/// Returns the rules of a link in both directions.
fn link_rules(words: &FamilyKeywords, linked: &LinkedContainer) -> String {
    let FamilyKeywords { address, family, .. } = words;
    let LinkedContainer { client, server, port } = linked;
    let (client, server) = (client.address(*family), server.address(*family));
    let mut text = String::new();
    for transport in TRANSPORTS {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" {address} saddr {client} \
             {address} daddr {server} {transport} dport {port} counter accept
    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" {address} saddr {server} \
             {address} daddr {client} {transport} sport {port} counter accept"
        );
    }
    text
}

/// Returns the rules that accept packets for published ports.
fn accept_rules(words: &FamilyKeywords, published: &[PublishedPort]) -> String {
    let FamilyKeywords { address, family, .. } = words;
    let mut accepted = String::new();
    for PublishedPort { port, server, .. } in published {
        let server = server.address(*family);
        for transport in TRANSPORTS {
            // Writing to a String cannot fail.
            let _ = writeln!(
                accepted,
                "    iifname != \"{BRIDGE}\" oifname \"{BRIDGE}\" {address} daddr {server} \
                 {transport} dport {port} counter accept"
            );
        }
    }
    accepted
}

/// Returns the filter table: the rules that accept packets to containers, and the given rules for packets from the
/// bridge.
fn filter_table(words: &FamilyKeywords, accepted: &str, from_bridge: &str) -> String {
    let table = words.table;
    format!(
        "table {table} filter {{
  chain DOCKER-USER {{
  }}
  chain DOCKER-INTERNAL {{
  }}
  chain DOCKER {{
{accepted}    iifname != \"{BRIDGE}\" oifname \"{BRIDGE}\" counter drop
  }}
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
  chain INPUT {{
    type filter hook input priority filter; policy accept;
  }}
  chain FORWARD {{
    type filter hook forward priority filter; policy drop;
    counter jump DOCKER-USER
    counter {FORWARD}
  }}
  chain OUTPUT {{
    type filter hook output priority filter; policy accept;
  }}
}}
"
    )
}

fn nat_table(words: &FamilyKeywords, subnet: LabSubnet, published: &[PublishedPort]) -> String {
    let FamilyKeywords { table, address, loopback, family } = words;
    let mut translated = String::new();
    for one in published {
        for transport in TRANSPORTS {
            let _ = writeln!(translated, "    {}", dnat_rule(*family, one, transport));
        }
    }
    let subnet = subnet.prefix(*family);
    format!(
        "table {table} nat {{
  chain DOCKER {{
{translated}  }}
  chain PREROUTING {{
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local counter jump DOCKER
  }}
  chain INPUT {{
    type nat hook input priority 100; policy accept;
  }}
  chain OUTPUT {{
    type nat hook output priority -100; policy accept;
    {address} daddr != {loopback} fib daddr type local counter jump DOCKER
  }}
  chain POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    {address} saddr {subnet} oifname != \"{BRIDGE}\" counter masquerade
  }}
}}
"
    )
}

/// Returns the rule that rewrites the destination of a published port's packets.
pub(crate) fn dnat_rule(family: Family, published: &PublishedPort, transport: &str) -> String {
    let address = keywords(family).address;
    let PublishedPort { host_address: on, port, server } = published;
    let on = on.map(|node| format!("{address} daddr {} ", node.address(family)));
    let server = SocketAddr::new(server.address(family), *port);
    format!(
        "iifname != \"{BRIDGE}\" {}{transport} dport {port} counter dnat to {server}",
        on.unwrap_or_default()
    )
}

/// Returns the raw table: packets reach a server with published ports by its own address only through the bridge.
fn raw_table(words: &FamilyKeywords, published: &[PublishedPort]) -> String {
    let FamilyKeywords { table, address, family, .. } = words;
    let mut servers: Vec<_> = published.iter().map(|one| one.server.address(*family)).collect();
    servers.dedup();
    let drops: String = servers
        .iter()
        .map(|server| {
            format!("    iifname != \"{BRIDGE}\" {address} daddr {server} counter drop\n")
        })
        .collect();
    format!(
        "table {table} raw {{
  chain PREROUTING {{
    type filter hook prerouting priority raw; policy accept;
{drops}  }}
  chain OUTPUT {{
    type filter hook output priority raw; policy accept;
  }}
}}
"
    )
}

/// Returns the rules that Docker's embedded DNS server adds to a container's own namespace. They are for IPv4 only, as
/// in Docker.
///
/// No packet of a workload matches them, but a namespace with a NAT table tracks every connection.
pub(crate) fn dns_rules() -> String {
    // Docker's server listens on ports that the kernel picks. No server listens on these, and no query is sent to them.
    const DNS: &str = "127.0.0.11";
    const UDP: u16 = 40_011;
    const TCP: u16 = 40_012;
    format!(
        "table ip nat {{
  chain DOCKER_OUTPUT {{
    ip daddr {DNS} tcp dport 53 counter dnat to {DNS}:{TCP}
    ip daddr {DNS} udp dport 53 counter dnat to {DNS}:{UDP}
  }}
  chain DOCKER_POSTROUTING {{
    ip saddr {DNS} tcp sport {TCP} counter snat to :53
    ip saddr {DNS} udp sport {UDP} counter snat to :53
  }}
  chain OUTPUT {{
    type nat hook output priority -100; policy accept;
    ip daddr {DNS} counter jump DOCKER_OUTPUT
  }}
  chain POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    ip daddr {DNS} counter jump DOCKER_POSTROUTING
  }}
}}
"
    )
}
