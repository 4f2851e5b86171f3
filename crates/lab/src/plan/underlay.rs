//! Underlay: nodes joined by a switch, their links, and the MTU that the links leave to networks above them.

use crate::plan::address::InterfaceSlot;
use crate::plan::layout::{Waypoint, check_one_node};
use crate::plan::limited_link::LimitedLink;
use crate::plan::nodes::{LabNode, UNDERLAY_BRIDGE, UPLINK, add_nodes};
use crate::plan::placement::NodePlacement;
use crate::plan::wiring::{DevicePairEnd, Impairment, InterfaceAddress, NamespaceId, Wiring};
use std::net::{IpAddr, Ipv4Addr};
use tare_network::{Error, Family, HopKind, MtuSource, NodeLink, Requirement, Shape};
use tare_sandbox::Sysctl;
use tare_sandbox::devices::Netem;

/// Largest number of nodes of a lab.
pub(crate) const MOST_NODES: u32 = 32;

/// Sysctls of a node that forwards packets: Linux as a router.
pub(crate) const ROUTER: [Sysctl; 5] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "0"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "0"),
];

/// Returns the requirements of these links on the kernel.
pub fn link_requirements(link: &NodeLink) -> Vec<Requirement> {
    const RATE: [&str; 4] = ["sch_tbf", "sch_ingress", "cls_u32", "act_mirred"];
    let impaired: &[&str] = if link.is_impaired() { &["sch_netem"] } else { &[] };
    let limited: &[&str] = if link.rate.is_some() { &RATE } else { &[] };
    [impaired, limited].concat().into_iter().map(|module| Requirement::Kernel { module }).collect()
}

/// Returns the links of a shape.
pub(crate) fn parse_link(shape: &Shape) -> Result<NodeLink, Error> {
    let text = shape.link.as_deref();
    let parsed = text.map(str::parse).transpose();
    let error = |why: tare_network::NodeLinkError| Error::new("parse the link between nodes", why);
    Ok(parsed.map_err(error)?.unwrap_or_default())
}

/// Refuses a shape that a network for `least` nodes or more does not support.
pub(crate) fn check_nodes(name: &str, least: u32, shape: &Shape) -> Result<(), Error> {
    check_one_node(name, &Shape { nodes: 1, ..shape.clone() })?;
    if (least..=MOST_NODES).contains(&shape.nodes) {
        return Ok(());
    }
    let why = format!("{name} connects {least} to {MOST_NODES} nodes");
    Err(Error::new(format!("lay out {name}"), why)
        .with_remedy(format!("use --nodes from {least} to {MOST_NODES}")))
}

/// Returns the MTU of containers over a network with headers of this size, bytes: the largest that fits, or the user's
/// own.
pub(crate) fn inner_mtu(shape: &Shape, link: &NodeLink, headers: u32) -> u32 {
    match (shape.nodes, shape.mtu_by) {
        (0 | 1, _) | (_, MtuSource::User) => shape.mtu,
        (_, MtuSource::Network) => link.mtu() - headers,
    }
}

/// Nodes, and the switch that joins them.
pub(crate) struct Underlay {
    /// Nodes in order.
    pub(crate) nodes: Vec<LabNode>,
    /// Links between the nodes and the switch.
    pub(crate) link: NodeLink,
    switch: NamespaceId,
    /// Links of the nodes in order, if the links have a rate and join nodes.
    limited: Vec<LimitedLink>,
}

impl Underlay {
    /// Adds the nodes of a shape, each with the same settings and with neighbour entries for all others.
    pub(crate) fn add(
        wiring: &mut Wiring,
        shape: &Shape,
        sysctls: &[Sysctl],
    ) -> Result<Self, Error> {
        let link = parse_link(shape)?;
        let switch = NamespaceId(wiring.spaces.len());
        let (bridges, cables) = (wiring.bridges.len(), wiring.device_pairs.len());
        let count = u8::try_from(shape.nodes.clamp(1, MOST_NODES)).unwrap_or(1);
        let nodes = add_nodes(wiring, count, sysctls);
        if count > 1 {
            // On one node the underlay carries no packets, so it keeps the MTU of the rest.
            wiring.bridges[bridges].mtu = Some(link.mtu());
            for cable in &mut wiring.device_pairs[cables..] {
                cable.mtu = Some(link.mtu());
            }
        }
        let mut underlay = Self { nodes, link, switch, limited: Vec::new() };
        if count > 1 {
            underlay.impair(wiring, cables);
            underlay.limit(wiring, cables);
        }
        for (one, other) in underlay.pairs() {
            wiring.add_neighbour(one.space, UPLINK, other.slot(0));
        }
        Ok(underlay)
    }

    /// Returns all ordered pairs of nodes.
    pub(crate) fn pairs(&self) -> Vec<(LabNode, LabNode)> {
        let of = |&one: &LabNode| {
            self.nodes.iter().filter(move |other| **other != one).map(move |&other| (one, other))
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// Applies the impairments of the links to the veth pairs from the given index on, at the switch: packets are
    /// delayed or lost once on their way, and a delay is that from node to node.
    fn impair(&self, wiring: &mut Wiring, cables: usize) {
        let Some(netem) = Netem::for_link(&self.link) else { return };
        let ports = wiring.device_pairs[cables..].iter().map(|cable| &cable.near);
        let impaired = |port: &DevicePairEnd| Impairment {
            space: port.space,
            device: port.device.clone(),
            netem,
        };
        wiring.impairments.extend(ports.map(impaired));
    }

    /// Puts the links with their rate, if they have one, into the veth pairs from the given index on.
    fn limit(&mut self, wiring: &mut Wiring, cables: usize) {
        let Some(rate) = self.link.rate else { return };
        let insert =
            |number: usize| LimitedLink::insert(wiring, number, cables + number, &self.link, rate);
        self.limited = (0..self.nodes.len()).map(insert).collect();
    }

    /// Returns an address of its node for each server, because servers on one node listen on the same ports.
    pub(crate) fn server_slots(
        &self,
        wiring: &mut Wiring,
        shape: &Shape,
    ) -> Result<Vec<InterfaceSlot>, Error> {
        let spread = NodePlacement::for_shape(shape);
        let homes: Vec<usize> =
            (0..shape.servers as usize).map(|one| spread.server_node(one)).collect();
        let mut free = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let count = homes.iter().filter(|&&home| home == at).count();
            let mine = node.addresses(wiring, u32::try_from(count.max(1)).unwrap_or(u32::MAX))?;
            for (other, &slot) in
                self.nodes.iter().flat_map(|other| mine.iter().map(move |slot| (other, slot)))
            {
                if other != node {
                    wiring.add_neighbour_at(other.space, UPLINK, slot, node.slot(0).mac());
                }
            }
            free.push(mine.into_iter());
        }
        let mut next = |home: &usize| free[*home].next().unwrap_or(self.nodes[*home].slot(0));
        Ok(homes.iter().map(&mut next).collect())
    }

    /// Gives the nodes IPv4 addresses as well if the containers use IPv6, because tunnels run over IPv4.
    pub(crate) fn add_ipv4(&self, wiring: &mut Wiring) {
        if wiring.family == Family::Ipv4 {
            return;
        }
        for node in &self.nodes {
            wiring.addresses.push(InterfaceAddress {
                space: node.space,
                device: UPLINK.to_owned(),
                address: IpAddr::V4(node.ipv4()),
                prefix: crate::plan::address::prefix_length(Family::Ipv4),
            });
        }
        for (one, other) in self.pairs() {
            wiring.neighbours.push(crate::plan::wiring::Neighbour {
                space: one.space,
                device: UPLINK.to_owned(),
                address: IpAddr::V4(other.ipv4()),
                mac: other.slot(0).mac(),
            });
        }
    }

    /// Returns the path of a packet from one node to another, their uplinks included.
    pub(crate) fn path(&self, from: usize, to: usize) -> Vec<Waypoint> {
        let [sender, receiver] = [self.nodes[from], self.nodes[to]];
        let limited = |node: usize| self.limited.get(node).copied();
        let mut path = vec![Waypoint::device(HopKind::Veth, sender.space, UPLINK)];
        path.extend(limited(from).map_or_else(Vec::new, LimitedLink::path_to_switch));
        path.extend([
            Waypoint::device(HopKind::Veth, self.switch, sender.port()),
            Waypoint::device(HopKind::Bridge, self.switch, UNDERLAY_BRIDGE),
            Waypoint::device(HopKind::Veth, self.switch, receiver.port()),
        ]);
        path.extend(limited(to).map_or_else(Vec::new, LimitedLink::path_to_node));
        path.push(Waypoint::device(HopKind::Veth, receiver.space, UPLINK));
        path
    }
}

impl LabNode {
    /// Returns the IPv4 address of the node on the underlay.
    pub(crate) fn ipv4(self) -> Ipv4Addr {
        match self.slot(0).address(Family::Ipv4) {
            IpAddr::V4(address) => address,
            // The slot's address is of the requested family.
            IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_what_the_headers_leave() {
        let shape = Shape { nodes: 2, ..Shape::default() };
        let link = NodeLink { mtu: Some(9000), ..NodeLink::default() };
        assert_eq!(inner_mtu(&shape, &NodeLink::default(), 50), 1450);
        assert_eq!(inner_mtu(&shape, &link, 50), 8950);
        let wrong = Shape { mtu_by: MtuSource::User, ..shape };
        assert_eq!(inner_mtu(&wrong, &link, 50), 1500);
        assert_eq!(inner_mtu(&Shape { mtu: 9000, ..Shape::default() }, &link, 50), 9000);
    }

    #[test]
    fn links_are_limited_in_both_directions_and_impaired_in_the_switch() {
        let wired = |nodes: u32, link: &str| {
            let shape = Shape { nodes, link: Some(link.to_owned()), ..Shape::default() };
            let mut wiring = Wiring::new(Family::Ipv4, 1500);
            let underlay = Underlay::add(&mut wiring, &shape, &[]).unwrap();
            (wiring.rate_limits.len(), wiring.impairments.len(), underlay)
        };
        for (link, limited, impaired, hops) in
            [("rate=1gbit", 4, 0, 10), ("delay=1ms", 0, 2, 5), ("rate=1gbit,loss=1%", 4, 2, 10)]
        {
            let (limits, impairments, underlay) = wired(2, link);
            assert_eq!((limits, impairments), (limited, impaired), "{link}");
            assert_eq!(underlay.path(0, 1).len(), hops, "{link}");
        }
        let (limits, impairments, _) = wired(1, "rate=1gbit,loss=1%");
        assert_eq!((limits, impairments), (0, 0), "one node has no packets between nodes");
    }

    #[test]
    fn every_node_knows_every_other() {
        let mut wiring = Wiring::new(Family::Ipv6, 1450);
        let shape = Shape { nodes: 3, ..Shape::default() };
        let underlay = Underlay::add(&mut wiring, &shape, &[]).unwrap();
        assert_eq!(wiring.neighbours.len(), 6);
        assert!(wiring.device_pairs.iter().all(|cable| cable.mtu == Some(1500)));
        underlay.add_ipv4(&mut wiring);
        assert_eq!((wiring.neighbours.len(), wiring.addresses.len()), (12, 6));
    }
}
