//! `bridge`: two containers on Docker's default bridge, with its netfilter rules.

use super::{Recipe, bridge_plain, filtered, wired};
use crate::docker::{FORWARD, host_rules};
use crate::layout::{Layout, Proof, Waypoint};
use crate::wiring::{Rules, Sysctl};
use tare_network::{About, Error, Hop, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Bridge;

/// What dockerd sets on its host: forwarding, and bridged packets pass netfilter.
pub(super) const DOCKER_HOST: [Sysctl; 5] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
    Sysctl::required("net.bridge.bridge-nf-call-iptables", "1"),
    Sysctl::required("net.bridge.bridge-nf-call-ip6tables", "1"),
];

/// The kernel features of Docker's rules on its host.
pub(super) fn docker_needs() -> Vec<Need> {
    let mut needs = wired();
    needs.push(Need::Kernel { module: "br_netfilter" });
    needs.extend(filtered(&["nft_masq", "nft_ct", "nft_fib_ipv4", "nft_fib_ipv6"]));
    needs
}

impl Recipe for Bridge {
    fn about(&self) -> About {
        About {
            name: "bridge",
            summary: "two containers on a bridge, with Docker's netfilter rules",
            stands_for: "Docker's default network, docker0",
            source: "moby, integration/network/bridge/iptablesdoc",
            options: &NetworkOption::WIRED,
        }
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        if site.options.plain { wired() } else { docker_needs() }
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        if site.options.plain {
            return bridge_plain::layout("bridge", shape, site);
        }
        let bridge_plain::Bridged { mut layout, node, subnet, .. } =
            bridge_plain::bridged("bridge", shape, site, &DOCKER_HOST)?;
        let text = host_rules(shape.family, subnet, &[]);
        layout.wiring.rules.push(Rules { space: node.space, text });
        let place = layout.wiring.name(node.space);
        let rules = [tracked(place), forwarded(place)];
        layout.path.splice(AFTER_THE_BRIDGE..AFTER_THE_BRIDGE, rules.map(Waypoint::Other));
        layout.proof = Some(Proof::Rule { space: node.space, rule: FORWARD });
        Ok(layout)
    }
}

/// Where on the path through a bridge its rules are passed: on the bridge itself, after the port of entry. That is what
/// br_netfilter does.
pub(super) const AFTER_THE_BRIDGE: usize = 3;

/// Connection tracking on a bridge.
pub(super) fn tracked(place: &str) -> Hop {
    Hop::new(HopKind::Conntrack, "nf_conntrack", place)
        .with_detail("bridge-nf-call-iptables=1, bridge-nf-call-ip6tables=1")
}

/// Docker's filter for what is forwarded.
pub(super) fn forwarded(place: &str) -> Hop {
    Hop::new(HopKind::Filter, "filter/FORWARD", place)
        .with_detail(format!("policy drop; counter {FORWARD}"))
}
