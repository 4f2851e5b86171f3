//! Several nodes: every network has the MTU that fits, and what does not fit is noticed.

use crate::cases::{enter, raise};
use crate::harness::Case;
use crate::nodes::{exchange_over_routes, two, two_of_ipv6};
use std::sync::Arc;
use tare_lab::Lab;
use tare_network::{Family, MtuBy, Shape, Topology};

/// The MTU of a hop.
fn mtu_at(topology: &Topology, at: &str) -> u32 {
    let hop = topology.hops.iter().find(|hop| hop.to_string() == at).expect("such a hop");
    hop.mtu.expect("it has one")
}

pub(crate) fn all() -> Vec<Case> {
    let link = |text: &str| Shape { link: Some(text.to_owned()), ..two() };
    // Network, shape, and the MTU inside and outside of it.
    let fitting = [
        ("vxlan", two(), 1450, 1500),
        ("vxlan", link("mtu=9000"), 8950, 9000),
        ("calico-vxlan", two(), 1450, 1500),
        ("routed", two(), 1500, 1500),
        ("calico", link("mtu=1400"), 1400, 1400),
        ("weave-sleeve", two(), 1376, 1500),
        ("ovs-user-vxlan", two(), 1450, 1500),
        ("ipsec-user", two(), 1400, 1500),
        ("wireguard-user", two(), 1420, 1500),
        ("flannel-vxlan", two(), 1450, 1500),
        ("flannel-udp", two(), 1472, 1500),
        ("flannel-host-gw", two(), 1500, 1500),
        ("flannel-vxlan", two_of_ipv6(), 1430, 1500),
        ("flannel-host-gw", two_of_ipv6(), 1500, 1500),
    ];
    let each = fitting.into_iter().map(|(name, shape, inside, outside)| {
        let link = shape.link.as_deref().unwrap_or("mtu=1500").to_owned();
        let case = format!("each_network_has_the_mtu_that_fits::{name}/{}/{link}", shape.family);
        Case::new(case, move || has_the_mtu_that_fits(name, &shape, inside, outside)).on(name)
    });
    // What is sealed is larger than what was sent, and fits all the same.
    let right = [
        ("vxlan", two()),
        ("routed", wrong()),
        ("weave-sleeve-encrypted", two()),
        ("ipsec-user", two()),
        ("flannel-vxlan", two_of_ipv6()),
        ("flannel-host-gw", two_of_ipv6()),
    ];
    let right = right.into_iter().map(|(name, shape)| {
        Case::new(format!("an_mtu_that_fits_is_not_noticed::{name}"), move || {
            assert_eq!(too_large(&enter(), name, &shape), TooLarge::default());
        })
        .on(name)
    });
    let rest = [
        Case::new("a_wrong_mtu_is_noticed", a_wrong_mtu_is_noticed),
        Case::new("a_clamped_connection_fits", a_clamped_connection_fits),
    ];
    each.chain(right).chain(rest).collect()
}

/// Shape of an MTU that only a network without headers of its own has room for.
fn wrong() -> Shape {
    Shape { mtu: 1500, mtu_by: MtuBy::User, ..two() }
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
struct TooLarge {
    /// Fragments made of them.
    fragments: u64,
    /// Those that were dropped because they may not be cut, or of which a tunnel told the sender.
    refused: u64,
}

/// What did not fit while bytes were exchanged over a network.
fn too_large(lab: &Arc<Lab>, name: &str, shape: &Shape) -> TooLarge {
    let mut topology = raise(lab, name, shape);
    let mut watch = topology.watch.take().expect("it is watched");
    watch.count();
    exchange_over_routes(name, &topology);
    let places = watch.count();
    let sum = |names: &[&str]| -> u64 {
        let counters = places.iter().flat_map(|place| &place.protocols);
        counters.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, gain)| gain).sum()
    };
    let told = sum(&["Icmp.InDestUnreachs"]).saturating_sub(sum(&["Icmp.OutDestUnreachs"]));
    TooLarge {
        fragments: sum(&["Ip.FragCreates", "Ip6.FragCreates"]),
        refused: sum(&["Ip.FragFails", "Icmp6.InPktTooBigs"]) + told,
    }
}

fn a_wrong_mtu_is_noticed() {
    let lab = enter();
    // A tunnel on a bridge tells the container to send less, or cuts packets on kernels before 5.9.
    let found = too_large(&lab, "vxlan", &wrong());
    assert!(found.fragments + found.refused > 0, "{found:?}");
    // Where nodes route, senders are told to send less: RFC 1191.
    let found = too_large(&lab, "calico-vxlan", &wrong());
    assert!(found.refused > 0, "{found:?}");
}

fn a_clamped_connection_fits() {
    let lab = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let wrong = Shape { family, ..wrong() };
        let clamped = Shape { clamp_mss: true, ..wrong.clone() };
        for name in ["vxlan", "calico-vxlan"] {
            let found = too_large(&lab, name, &wrong);
            assert_ne!(found, TooLarge::default(), "{name} {family} does not fit");
            let found = too_large(&lab, name, &clamped);
            assert_eq!(found, TooLarge::default(), "{name} {family} fits");
        }
    }
}
