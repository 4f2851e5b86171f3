//! Netfilter rules that Docker installs on its host, in nft's syntax: for each of its two firewall backends, with the
//! tables, chains, order and counters of Engine 29.
//!
//! Source: the rules of an Engine 29 on Linux 6.18, with each backend, with published ports, with links and without
//! communication between containers; moby, `integration/network/bridge/iptablesdoc/generated` and `nftablesdoc/generated`.

pub(crate) mod dns;
mod iptables;
mod nftables;

use crate::plan::address::{InterfaceSlot, LabSubnet};
use std::net::{IpAddr, SocketAddr};
use tare_network::{Family, FirewallBackend, Hop, HopKind};

/// Name of Docker's default bridge.
pub(crate) const BRIDGE: &str = "docker0";

/// Both transports, because a published port does not depend on the transport of its workload.
const TRANSPORTS: [&str; 2] = ["tcp", "udp"];

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

/// Containers of a bridge that may communicate with one another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Communication<'a> {
    /// All of them (`dockerd --icc=true`, the default).
    All,
    /// Those that are linked (`dockerd --icc=false`).
    Linked(&'a [LinkedContainer]),
}

impl<'a> Communication<'a> {
    /// Returns the links that need rules.
    fn links(self) -> &'a [LinkedContainer] {
        match self {
            Self::All => &[],
            Self::Linked(links) => links,
        }
    }
}

/// State of Docker's default bridge that its rules follow from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DockerRules<'a> {
    /// Firewall backend of the daemon.
    pub(crate) backend: FirewallBackend,
    /// IP family of the rules.
    pub(crate) family: Family,
    /// Network of the bridge.
    pub(crate) subnet: LabSubnet,
    /// Containers on the bridge.
    pub(crate) containers: &'a [InterfaceSlot],
    /// Published ports of the containers.
    pub(crate) published: &'a [PublishedPort],
    /// Containers that may communicate with one another.
    pub(crate) communication: Communication<'a>,
}

impl DockerRules<'_> {
    /// Returns the rules, as a file for nft.
    pub(crate) fn text(&self) -> String {
        match self.backend {
            FirewallBackend::Iptables => iptables::rules(self),
            FirewallBackend::Nftables => nftables::rules(self),
        }
    }

    /// Returns the rules that rewrite the destinations of packets to published ports.
    fn translations(&self) -> String {
        lines(
            self.published
                .iter()
                .flat_map(|one| TRANSPORTS.map(|transport| dnat_rule(self.family, one, transport))),
        )
    }

    /// Returns the published ports, each of every transport: the server's address, the transport and the port.
    fn server_ports(&self) -> impl DoubleEndedIterator<Item = (IpAddr, &'static str, u16)> {
        self.published.iter().flat_map(|one| {
            TRANSPORTS.map(|transport| (one.server.address(self.family), transport, one.port))
        })
    }

    /// Returns the links, each of every transport: the addresses of client and server, the transport and the port.
    fn linked_ports(&self) -> impl Iterator<Item = (IpAddr, IpAddr, &'static str, u16)> {
        self.communication.links().iter().flat_map(|LinkedContainer { client, server, port }| {
            let (client, server) = (client.address(self.family), server.address(self.family));
            TRANSPORTS.map(|transport| (client, server, transport, *port))
        })
    }

    /// Returns the addresses of the containers.
    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.containers.iter().map(|container| container.address(self.family))
    }
}

/// Returns a part of the rule that every connection between containers passes.
pub(crate) fn forward_rule(backend: FirewallBackend) -> &'static str {
    match backend {
        FirewallBackend::Iptables => iptables::FORWARD,
        FirewallBackend::Nftables => nftables::FORWARD,
    }
}

/// Returns the hop of Docker's filter for forwarded packets.
pub(crate) fn forward_hop(backend: FirewallBackend, place: &str) -> Hop {
    let detail = match backend {
        FirewallBackend::Iptables => format!("policy drop; counter {}", iptables::FORWARD),
        FirewallBackend::Nftables => nftables::FORWARD_JUMP.to_owned(),
    };
    Hop::new(HopKind::Filter, backend.forward_rules(), place).with_detail(detail)
}

/// Returns the hop of the rule that rewrites the destination of a published port's packets.
pub(crate) fn port_hop(
    backend: FirewallBackend,
    family: Family,
    published: &PublishedPort,
    place: &str,
) -> Hop {
    let rule = dnat_rule(family, published, "tcp");
    Hop::new(HopKind::Nat, backend.port_rules(), place).with_detail(rule)
}

/// Returns the hop of the rule that masquerades packets which leave the bridge.
pub(crate) fn masquerade_hop(backend: FirewallBackend, place: &str) -> Hop {
    Hop::new(HopKind::Nat, backend.masquerade_rules(), place)
        .with_detail(format!("oifname != \"{BRIDGE}\" counter masquerade"))
}

/// Keywords of an IP family in nft's language.
struct FamilyKeywords {
    /// Name of tables and addresses.
    ip: &'static str,
    loopback: &'static str,
    /// Part of a rule for published ports: Docker rewrites no packets from addresses of the link.
    beyond_link: &'static str,
}

fn keywords(family: Family) -> FamilyKeywords {
    match family {
        Family::Ipv4 => FamilyKeywords { ip: "ip", loopback: "127.0.0.0/8", beyond_link: "" },
        Family::Ipv6 => {
            FamilyKeywords { ip: "ip6", loopback: "::1", beyond_link: "ip6 saddr != fe80::/10 " }
        }
    }
}

/// Returns the rule that rewrites the destination of a published port's packets.
fn dnat_rule(family: Family, published: &PublishedPort, transport: &str) -> String {
    let FamilyKeywords { ip, beyond_link, .. } = keywords(family);
    let PublishedPort { host_address, port, server } = published;
    let address = host_address.map(|node| format!("{ip} daddr {} ", node.address(family)));
    let address = address.unwrap_or_default();
    let server = SocketAddr::new(server.address(family), *port);
    format!(
        "iifname != \"{BRIDGE}\" {beyond_link}{address}{transport} dport {port} counter dnat to {server}"
    )
}

/// Returns rules as lines of a chain.
fn lines(rules: impl Iterator<Item = String>) -> String {
    rules.map(|rule| format!("    {rule}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_is_reached_through_its_bridge_only() {
        let subnet = LabSubnet::docker(1);
        let containers = [subnet.slot(2), subnet.slot(3)];
        for backend in FirewallBackend::ALL {
            for family in [Family::Ipv4, Family::Ipv6] {
                let rules = DockerRules {
                    backend,
                    family,
                    subnet,
                    containers: &containers,
                    published: &[],
                    communication: Communication::All,
                };
                let text = rules.text();
                for container in containers {
                    let address = format!("daddr {} ", container.address(family));
                    let drops = text.lines().filter(|line| {
                        line.contains(&address)
                            && line.contains("iifname != \"docker0\"")
                            && line.ends_with("counter drop")
                    });
                    assert_eq!(drops.count(), 1, "{backend}: {text}");
                }
                assert!(text.contains(forward_rule(backend)), "{backend}: {text}");
            }
        }
    }
}
