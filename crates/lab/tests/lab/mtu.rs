//! Several nodes: every network has the MTU that fits, and what does not fit is noticed.

use crate::cases::{enter, raise};
use crate::nodes::{exchange_over_routes, joining, two, two_of_ipv6};
use std::sync::Arc;
use tare_lab::Lab;
use tare_network::{Family, MtuBy, Shape, Topology};

/// The MTU of a hop.
fn mtu_at(topology: &Topology, at: &str) -> u32 {
    let hop = topology.hops.iter().find(|hop| hop.to_string() == at).expect("such a hop");
    hop.mtu.expect("it has one")
}

pub(crate) fn each_has_the_mtu_that_fits() {
    let lab = enter();
    let link = |text: &str| Shape { link: Some(text.to_owned()), ..two() };
    let cases = [
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
    let here = joining();
    for (name, shape, inside, outside) in cases.into_iter().filter(|(name, ..)| here.contains(name))
    {
        let topology = raise(&lab, name, &shape);
        assert_eq!(mtu_at(&topology, "client-0:eth0"), inside, "{name}");
        assert_eq!(mtu_at(&topology, "server-0:eth0"), inside, "{name}");
        assert_eq!(mtu_at(&topology, "node-0:eth0"), outside, "{name}");
        assert_eq!(mtu_at(&topology, "underlay:veth-n1"), outside, "{name}");
    }
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

pub(crate) fn a_wrong_mtu_is_noticed() {
    let lab = enter();
    let wrong = Shape { mtu: 1500, mtu_by: MtuBy::User, ..two() };
    assert_eq!(too_large(&lab, "vxlan", &two()), TooLarge::default());
    assert_eq!(too_large(&lab, "routed", &wrong), TooLarge::default(), "1500 in 1500 fits");
    // What is sealed is larger than what was sent, and fits all the same.
    for name in
        ["weave-sleeve-encrypted", "ipsec-user"].into_iter().filter(|one| joining().contains(one))
    {
        assert_eq!(too_large(&lab, name, &two()), TooLarge::default(), "{name}");
    }
    for name in
        ["flannel-vxlan", "flannel-host-gw"].into_iter().filter(|one| joining().contains(one))
    {
        assert_eq!(too_large(&lab, name, &two_of_ipv6()), TooLarge::default(), "{name}");
    }
    // A tunnel on a bridge tells the container to send less, or cuts packets on kernels before 5.9.
    let found = too_large(&lab, "vxlan", &wrong);
    assert!(found.fragments + found.refused > 0, "{found:?}");
    // Where nodes route, senders are told to send less: RFC 1191.
    let found = too_large(&lab, "calico-vxlan", &wrong);
    assert!(found.refused > 0, "{found:?}");
}

pub(crate) fn a_clamped_connection_fits() {
    let lab = enter();
    for family in [Family::Ipv4, Family::Ipv6] {
        let wrong = Shape { mtu: 1500, mtu_by: MtuBy::User, family, ..two() };
        let clamped = Shape { clamp_mss: true, ..wrong.clone() };
        for name in ["vxlan", "calico-vxlan"] {
            let found = too_large(&lab, name, &wrong);
            assert_ne!(found, TooLarge::default(), "{name} {family} does not fit");
            let found = too_large(&lab, name, &clamped);
            assert_eq!(found, TooLarge::default(), "{name} {family} fits");
        }
    }
}
