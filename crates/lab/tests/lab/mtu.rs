//! Tests of the MTU with several nodes: every network has the MTU that fits, and packets that do not fit are noticed.

use crate::cases::{enter, raise};
use crate::harness::Case;
use crate::nodes::{exchange_over_routes, two_ipv6_nodes, two_nodes};
use std::sync::Arc;
use tare_network::{Family, MtuSource, Shape, Topology};
use tare_sandbox::Sandbox;

/// Returns the MTU of the hop with this name.
fn mtu_at(topology: &Topology, at: &str) -> u32 {
    let hop = topology.hops.iter().find(|hop| hop.to_string() == at).expect("such a hop");
    hop.mtu.expect("it has one")
}

pub(crate) fn all() -> Vec<Case> {
    let link = |text: &str| Shape { link: Some(text.to_owned()), ..two_nodes() };
    // Each entry is a network, a shape, and the MTU inside and outside of the network.
    let fitting = [
        ("vxlan", two_nodes(), 1450, 1500),
        ("vxlan", link("mtu=9000"), 8950, 9000),
        ("calico-vxlan", two_nodes(), 1450, 1500),
        ("routed", two_nodes(), 1500, 1500),
        ("calico", link("mtu=1400"), 1400, 1400),
        ("weave-sleeve", two_nodes(), 1376, 1500),
        ("ovs-user-vxlan", two_nodes(), 1450, 1500),
        ("ipsec-user", two_nodes(), 1400, 1500),
        ("wireguard-user", two_nodes(), 1420, 1500),
        ("flannel-vxlan", two_nodes(), 1450, 1500),
        ("flannel-udp", two_nodes(), 1472, 1500),
        ("flannel-host-gw", two_nodes(), 1500, 1500),
        ("flannel-vxlan", two_ipv6_nodes(), 1430, 1500),
        ("flannel-host-gw", two_ipv6_nodes(), 1500, 1500),
    ];
    let each = fitting.into_iter().map(|(name, shape, inside, outside)| {
        let link = shape.link.as_deref().unwrap_or("mtu=1500").to_owned();
        let case = format!("each_network_has_the_mtu_that_fits::{name}/{}/{link}", shape.family);
        Case::new(case, move || has_the_mtu_that_fits(name, &shape, inside, outside)).on(name)
    });
    // Encrypted packets are larger than the plain ones, and must fit nevertheless.
    let right = [
        ("vxlan", two_nodes()),
        ("routed", wrong_mtu()),
        ("weave-sleeve-encrypted", two_nodes()),
        ("ipsec-user", two_nodes()),
        ("flannel-vxlan", two_ipv6_nodes()),
        ("flannel-host-gw", two_ipv6_nodes()),
    ];
    let right = right.into_iter().map(|(name, shape)| {
        Case::new(format!("an_mtu_that_fits_is_not_noticed::{name}"), move || {
            assert_eq!(count_oversized(&enter(), name, &shape), OversizedPackets::default());
        })
        .on(name)
    });
    let rest = [
        Case::new("a_wrong_mtu_is_noticed", a_wrong_mtu_is_noticed),
        Case::new("a_clamped_connection_fits", a_clamped_connection_fits),
    ];
    each.chain(right).chain(rest).collect()
}

/// Returns a shape whose MTU fits only a network without headers of its own.
fn wrong_mtu() -> Shape {
    Shape { mtu: 1500, mtu_by: MtuSource::User, ..two_nodes() }
}

fn has_the_mtu_that_fits(name: &str, shape: &Shape, inside: u32, outside: u32) {
    let topology = raise(&enter(), name, shape);
    assert_eq!(mtu_at(&topology, "client-0:eth0"), inside);
    assert_eq!(mtu_at(&topology, "server-0:eth0"), inside);
    assert_eq!(mtu_at(&topology, "node-0:eth0"), outside);
    assert_eq!(mtu_at(&topology, "underlay:veth-n1"), outside);
}

/// Packets that did not fit.
#[derive(Debug, Default, PartialEq, Eq)]
struct OversizedPackets {
    /// Fragments made of them.
    fragments: u64,
    /// Packets that were dropped because they may not be fragmented, or that a tunnel reported to the sender.
    refused: u64,
}

/// Exchanges bytes over a network, and returns the packets that did not fit.
fn count_oversized(sandbox: &Arc<Sandbox>, name: &str, shape: &Shape) -> OversizedPackets {
    let mut topology = raise(sandbox, name, shape);
    let mut watch = topology.watch.take().expect("it is watched");
    watch.read_gains();
    exchange_over_routes(name, &topology);
    let places = watch.read_gains();
    let sum = |names: &[&str]| -> u64 {
        let counters = places.iter().flat_map(|place| &place.protocols);
        counters.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, gain)| gain).sum()
    };
    let told = sum(&["Icmp.InDestUnreachs"]).saturating_sub(sum(&["Icmp.OutDestUnreachs"]));
    OversizedPackets {
        fragments: sum(&["Ip.FragCreates", "Ip6.FragCreates"]),
        refused: sum(&["Ip.FragFails", "Icmp6.InPktTooBigs"]) + told,
    }
}

fn a_wrong_mtu_is_noticed() {
    let sandbox = enter();
    // A tunnel on a bridge reports a smaller MTU to the container, or fragments packets on kernels before 5.9.
    let found = count_oversized(&sandbox, "vxlan", &wrong_mtu());
    assert!(found.fragments + found.refused > 0, "{found:?}");
    // If nodes route, they report the smaller MTU to the senders (RFC 1191).
    let found = count_oversized(&sandbox, "calico-vxlan", &wrong_mtu());
    assert!(found.refused > 0, "{found:?}");
}

fn a_clamped_connection_fits() {
    let sandbox = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let wrong = Shape { family, ..wrong_mtu() };
        let clamped = Shape { clamp_mss: true, ..wrong.clone() };
        for name in ["vxlan", "calico-vxlan"] {
            let found = count_oversized(&sandbox, name, &wrong);
            assert_ne!(found, OversizedPackets::default(), "{name} {family} does not fit");
            let found = count_oversized(&sandbox, name, &clamped);
            assert_eq!(found, OversizedPackets::default(), "{name} {family} fits");
        }
    }
}
