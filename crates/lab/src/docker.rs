//! The netfilter rules that Docker installs, in nft's own words.
//!
//! A current dockerd (28 and later) installs them through iptables-nft; here they are the equivalent native rules, in
//! the same tables, chains and order, each with the counter that iptables gives every rule. Source: moby,
//! `integration/network/bridge/iptablesdoc/generated` (host) and `libnetwork/resolver_unix.go` (container).

use crate::address::{Slot, Subnet};
use std::fmt::Write;
use std::net::SocketAddr;
use tare_network::Family;

/// The name of Docker's default bridge.
pub(crate) const BRIDGE: &str = "docker0";

/// A port of a server that is published on addresses of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// The node's address, where it is published on that one only (`-p ADDRESS:PORT:PORT`).
    pub(crate) on: Option<Slot>,
    /// The port on the node.
    pub(crate) port: u16,
    /// The server's address.
    pub(crate) server: Slot,
}

/// A client that is linked to a server (`docker run --link`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The client's address.
    pub(crate) client: Slot,
    /// The server's address.
    pub(crate) server: Slot,
    /// A port that the server's image exposes.
    pub(crate) port: u16,
}

/// The words of a family in nft's language.
struct Words {
    table: &'static str,
    address: &'static str,
    loopback: &'static str,
    family: Family,
}

fn words(family: Family) -> Words {
    match family {
        Family::Ipv4 => Words { table: "ip", address: "ip", loopback: "127.0.0.0/8", family },
        Family::Ipv6 => Words { table: "ip6", address: "ip6", loopback: "::1", family },
    }
}

/// The rule that sends connections on to Docker's chains: what every forwarded packet passes first.
pub(crate) const FORWARD: &str = "jump DOCKER-FORWARD";

/// The rules on a node with the default bridge and these published ports.
pub(crate) fn host_rules(family: Family, subnet: Subnet, published: &[Published]) -> String {
    let words = words(family);
    let talking = format!("    iifname \"{BRIDGE}\" counter accept\n");
    let mut text = filter(&words, &accepted(&words, published), &talking);
    text.push_str(&nat(&words, subnet, published));
    if !published.is_empty() {
        text.push_str(&raw(&words, published));
    }
    text
}

/// Both transports: what a workload's port speaks is the workload's business.
const TRANSPORTS: [&str; 2] = ["tcp", "udp"];

/// The rules on a node whose default bridge lets only linked containers talk to one another (`dockerd --icc=false`).
pub(crate) fn linked_rules(family: Family, subnet: Subnet, linked: &[Linked]) -> String {
    let words = words(family);
    let accepted: String = linked.iter().map(|one| link(&words, one)).collect();
    let silent = format!(
        "    iifname \"{BRIDGE}\" oifname != \"{BRIDGE}\" counter accept
    iifname \"{BRIDGE}\" oifname \"{BRIDGE}\" counter drop
"
    );
    filter(&words, &accepted, &silent) + &nat(&words, subnet, &[])
}

/// A link's rules: there, and back.
fn link(words: &Words, linked: &Linked) -> String {
    let Words { address, family, .. } = words;
    let Linked { client, server, port } = linked;
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

/// The rules that let published ports' packets in.
fn accepted(words: &Words, published: &[Published]) -> String {
    let Words { address, family, .. } = words;
    let mut accepted = String::new();
    for Published { port, server, .. } in published {
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

/// The filter table: what is accepted towards containers, and what becomes of packets that come from the bridge.
fn filter(words: &Words, accepted: &str, from_bridge: &str) -> String {
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

fn nat(words: &Words, subnet: Subnet, published: &[Published]) -> String {
    let Words { table, address, loopback, family } = words;
    let mut translated = String::new();
    for one in published {
        for transport in TRANSPORTS {
            let _ = writeln!(translated, "    {}", translation(*family, one, transport));
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

/// The rule that rewrites the destination of a published port's packets.
pub(crate) fn translation(family: Family, published: &Published, transport: &str) -> String {
    let address = words(family).address;
    let Published { on, port, server } = published;
    let on = on.map(|node| format!("{address} daddr {} ", node.address(family)));
    let server = SocketAddr::new(server.address(family), *port);
    format!(
        "iifname != \"{BRIDGE}\" {}{transport} dport {port} counter dnat to {server}",
        on.unwrap_or_default()
    )
}

/// Nobody but the bridge may reach a server with published ports by its own address.
fn raw(words: &Words, published: &[Published]) -> String {
    let Words { table, address, family, .. } = words;
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

/// The rules that Docker's embedded DNS server puts into a container's own namespace; for IPv4 only, as it does.
///
/// No packet of ours matches them, but a namespace with a NAT table tracks every connection.
pub(crate) fn dns_rules() -> String {
    // Docker's server listens on ports that the kernel picks; nobody listens on these, and nobody asks.
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
