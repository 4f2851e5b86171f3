//! Tests of packets on the underlay: each network encapsulates them as its name says.

use crate::cases::{enter, output};
use crate::harness::Case;
use crate::nodes::{exchange_over_routes, raise_any, two_nodes};
use tare_network::{Container, Family, Shape};

/// Network, an nft(8) match of packets on the second node's underlay, and whether such packets pass.
type EncapsulationCase = (&'static str, &'static str, bool);

/// Cases over IPv4.
const OVER_IPV4: [EncapsulationCase; 25] = [
    ("vxlan", "udp dport 4789", true),
    ("calico-vxlan", "udp dport 4789", true),
    ("routed", "udp dport 4789", false),
    ("routed", "iifname eth0 ip saddr 10.100.0.2", true),
    ("calico", "iifname eth0 ip saddr 10.100.0.1", true),
    ("vxlan", "iifname eth0 ip saddr 10.60.0.0/16", false),
    ("ipsec-user", "iifname eth0 udp dport 4500", true),
    ("ipsec-user", "iifname eth0 ip saddr 10.100.0.2", false),
    ("wireguard-user", "iifname eth0 udp dport 51820", true),
    ("wireguard-user", "iifname eth0 ip saddr 10.100.0.2", false),
    ("flannel-vxlan", "udp dport 8472", true),
    ("flannel-vxlan", "iifname eth0 ip saddr 10.100.0.2", false),
    ("flannel-udp", "iifname eth0 udp dport 8285", true),
    ("flannel-udp", "iifname eth0 ip saddr 10.100.0.2", false),
    ("flannel-host-gw", "iifname eth0 ip saddr 10.100.0.2", true),
    ("weave-sleeve", "iifname eth0 udp dport 6783", true),
    ("weave-sleeve", "iifname eth0 ip saddr 10.60.0.2", false),
    ("weave-sleeve-encrypted", "iifname eth0 udp dport 6783", true),
    ("weave-sleeve-encrypted", "iifname eth0 ip saddr 10.60.0.2", false),
    ("ovs-user-vxlan", "iifname eth0 udp dport 4789", true),
    ("ovs-user-vxlan", "iifname eth0 ip saddr 10.60.0.2", false),
    ("ovs-bridge-vxlan", "iifname eth0 udp dport 4789", true),
    ("ovs-user-bridge-vxlan", "iifname eth0 udp dport 4789", true),
    ("bridge/host", "iifname eth0 ip saddr 10.20.0.1", true),
    ("bridge/host", "iifname eth0 ip saddr 10.100.0.0/16", false),
];

/// Cases over IPv6.
const OVER_IPV6: [EncapsulationCase; 3] = [
    ("flannel-vxlan", "iifname eth0 ip6 daddr fd00:0:0:14::/64 udp dport 8472", true),
    ("flannel-vxlan", "iifname eth0 ip6 saddr fd00:0:0:64::/64", false),
    ("flannel-host-gw", "iifname eth0 ip6 saddr fd00:0:0:64::2", true),
];

pub(crate) fn all() -> Vec<Case> {
    let of = |family: Family| {
        move |(name, matching, passes): EncapsulationCase| {
            let case = format!("packets_are_wrapped_as_the_name_says::{name}/{family}/{matching}");
            Case::new(case, move || are_wrapped(name, family, matching, passes)).on(name)
        }
    };
    OVER_IPV4.map(of(Family::Ipv4)).into_iter().chain(OVER_IPV6.map(of(Family::Ipv6))).collect()
}

fn are_wrapped(name: &str, family: Family, matching: &str, passes: bool) {
    let topology = raise_any(&enter(), name, &Shape { family, ..two_nodes() });
    let count = RulePackets::new(topology.nodes[1].as_ref(), matching);
    exchange_over_routes(name, &topology);
    assert_eq!(count.packets() > 0, passes, "{} packets", count.packets());
}

/// Counter of matching packets that arrive at a node, by a rule that is added with the value.
pub(crate) struct RulePackets<'a> {
    node: &'a dyn Container,
}

impl<'a> RulePackets<'a> {
    pub(crate) fn new(node: &'a dyn Container, matching: &str) -> Self {
        let rules = format!(
            "table inet tare_test {{\nchain input {{\ntype filter hook prerouting priority -400;\n\
             {matching} counter\n}}\n}}"
        );
        let nft = tare_sandbox::program::find("nft").expect("nft is installed");
        output(node, &nft, &[&rules]);
        Self { node }
    }

    fn packets(&self) -> u64 {
        self.number("counter packets ")
    }

    /// Returns the bytes of the counted packets, with their headers.
    pub(crate) fn bytes(&self) -> u64 {
        self.number(" bytes ")
    }

    fn number(&self, before: &str) -> u64 {
        let nft = tare_sandbox::program::find("nft").expect("nft is installed");
        let text = output(self.node, &nft, &["list", "table", "inet", "tare_test"]);
        let rest = text.split(before).nth(1).expect("it counts");
        rest.split_whitespace().next().and_then(|count| count.parse().ok()).expect("a number")
    }
}
