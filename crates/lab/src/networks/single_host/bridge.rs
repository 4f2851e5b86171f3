//! `bridge`: two containers on Docker's default bridge, with its netfilter rules.

use crate::networks::single_host::bridge_plain;
use crate::networks::{LabNetworkDefinition, nftables_requirements, veth_and_bridge_requirements};
use crate::plan::docker_rules::{Communication, forward_hop, forward_rule};
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::wiring::Ruleset;
use tare_network::{
    Error, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::Sysctl;

pub(crate) struct DockerBridgeNetwork;

/// Sysctls that dockerd sets on its host: forwarding, and netfilter for bridged packets.
pub(crate) const DOCKER_HOST: [Sysctl; 5] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
    Sysctl::required("net.bridge.bridge-nf-call-iptables", "1"),
    Sysctl::required("net.bridge.bridge-nf-call-ip6tables", "1"),
];

/// Returns the kernel features that Docker's rules on its host need.
pub(crate) fn docker_requirements() -> Vec<Requirement> {
    let mut needs = veth_and_bridge_requirements();
    needs.push(Requirement::Kernel { module: "br_netfilter" });
    needs.extend(nftables_requirements(&["nft_masq", "nft_ct", "nft_fib_ipv4", "nft_fib_ipv6"]));
    needs
}

impl LabNetworkDefinition for DockerBridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "bridge",
            summary: "two containers on a bridge, with Docker's netfilter rules",
            stands_for: "Docker's default network, docker0",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: &NetworkOption::BRIDGE,
        }
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        if site.options.plain { veth_and_bridge_requirements() } else { docker_requirements() }
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        if site.options.plain {
            return bridge_plain::layout("bridge", shape, site);
        }
        let bridge = bridge_plain::layout_on_bridge("bridge", shape, site, &DOCKER_HOST)?;
        Ok(add_docker_rules(bridge, site))
    }
}

/// Adds Docker's rules to the node of a bridge on which all containers reach each other.
pub(crate) fn add_docker_rules(
    bridge: bridge_plain::BridgeLayout,
    site: &NetworkParameters,
) -> Layout {
    let backend = site.options.firewall.unwrap_or_default();
    let text = bridge.rules(backend, Communication::All).text();
    let bridge_plain::BridgeLayout { mut layout, node, .. } = bridge;
    layout.wiring.rules.push(Ruleset { space: node.space, text });
    let place = layout.wiring.name(node.space);
    let rules = [conntrack_hop(place), forward_hop(backend, place)];
    layout.path.splice(AFTER_THE_BRIDGE..AFTER_THE_BRIDGE, rules.map(Waypoint::Other));
    layout.proof = Some(PathProof::Rule { space: node.space, rule: forward_rule(backend) });
    layout
}

/// Index in the path through a bridge at which its rules apply: at the bridge, after the ingress port. br_netfilter
/// calls them there.
pub(crate) const AFTER_THE_BRIDGE: usize = 3;

/// Returns the hop of connection tracking on a bridge.
pub(crate) fn conntrack_hop(place: &str) -> Hop {
    Hop::new(HopKind::Conntrack, "nf_conntrack", place)
        .with_detail("bridge-nf-call-iptables=1, bridge-nf-call-ip6tables=1")
}
