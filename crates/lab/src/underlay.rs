//! Nodes joined by a switch: their links, and what of a packet's size the links leave to networks above them.

use crate::address::Slot;
use crate::layout::{Waypoint, one_node};
use crate::netem::Netem;
use crate::nodes::{Node, SWITCH, UPLINK, add_nodes};
use crate::spread::Spread;
use crate::wiring::{Address, Impairment, SpaceId, Sysctl, Wiring};
use std::net::{IpAddr, Ipv4Addr};
use tare_network::{Error, Family, HopKind, Link, MtuBy, Need, Shape};

/// The most nodes of a lab.
pub(crate) const MOST_NODES: u32 = 32;

/// What a node does that sends packets on: Linux as a router.
pub(crate) const ROUTER: [Sysctl; 5] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "0"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "0"),
];

/// What links like this need of the kernel.
pub fn link_needs(link: &Link) -> Vec<Need> {
    let netem = link.is_impaired().then_some(Need::Kernel { module: "sch_netem" });
    let tbf =
        (link.rate.is_some() && !link.is_impaired()).then_some(Need::Kernel { module: "sch_tbf" });
    netem.into_iter().chain(tbf).collect()
}

/// The links that a shape asks for.
pub(crate) fn link_of(shape: &Shape) -> Result<Link, Error> {
    let text = shape.link.as_deref();
    let parsed = text.map(str::parse).transpose();
    let error = |why: tare_network::LinkError| Error::new("read the link between nodes", why);
    Ok(parsed.map_err(error)?.unwrap_or_default())
}

/// Refuses shapes that a network which joins from `least` nodes on does not have.
pub(crate) fn joins(name: &str, least: u32, shape: &Shape) -> Result<(), Error> {
    one_node(name, &Shape { nodes: 1, ..shape.clone() })?;
    if (least..=MOST_NODES).contains(&shape.nodes) {
        return Ok(());
    }
    let why = format!("{name} joins {least} to {MOST_NODES} nodes");
    Err(Error::new(format!("lay out {name}"), why)
        .with_remedy(format!("use --nodes from {least} to {MOST_NODES}")))
}

/// The MTU of containers over a network whose headers take so much, bytes: what fits, or what the user has named.
pub(crate) fn mtu_inside(shape: &Shape, link: &Link, headers: u32) -> u32 {
    match (shape.nodes, shape.mtu_by) {
        (0 | 1, _) | (_, MtuBy::User) => shape.mtu,
        (_, MtuBy::Network) => link.mtu() - headers,
    }
}

/// The nodes, and the switch that joins them.
pub(crate) struct Underlay {
    /// The nodes, in order.
    pub(crate) nodes: Vec<Node>,
    /// What joins them.
    pub(crate) link: Link,
    switch: SpaceId,
}

impl Underlay {
    /// Adds the nodes of a shape, each with the same settings; each knows all others.
    pub(crate) fn add(
        wiring: &mut Wiring,
        shape: &Shape,
        sysctls: &[Sysctl],
    ) -> Result<Self, Error> {
        let link = link_of(shape)?;
        let switch = SpaceId(wiring.spaces.len());
        let (bridges, cables) = (wiring.bridges.len(), wiring.cables.len());
        let count = u8::try_from(shape.nodes.clamp(1, MOST_NODES)).unwrap_or(1);
        let nodes = add_nodes(wiring, count, sysctls);
        if count > 1 {
            // On one node the underlay carries nothing: it has whatever MTU the rest has.
            wiring.bridges[bridges].mtu = Some(link.mtu());
            for cable in &mut wiring.cables[cables..] {
                cable.mtu = Some(link.mtu());
            }
        }
        let underlay = Self { nodes, link, switch };
        underlay.limit(wiring, cables);
        for (one, other) in underlay.pairs() {
            wiring.neighbour(one.space, UPLINK, other.slot(0));
        }
        Ok(underlay)
    }

    /// Every node with every other.
    pub(crate) fn pairs(&self) -> Vec<(Node, Node)> {
        let of = |&one: &Node| {
            self.nodes.iter().filter(move |other| **other != one).map(move |&other| (one, other))
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// Makes the links, the cables from the given one on, as slow or as bad as they are to be.
    ///
    /// What is delayed or lost is so once on its way, at the switch: a delay is that from node to node.
    fn limit(&self, wiring: &mut Wiring, cables: usize) {
        if !self.link.is_impaired() {
            for cable in &mut wiring.cables[cables..] {
                cable.rate = self.link.rate;
            }
            return;
        }
        for cable in &wiring.cables[cables..] {
            let impair =
                |space, device: &str, netem| Impairment { space, device: device.to_owned(), netem };
            let near = Netem::towards(&self.link);
            wiring.impairments.push(impair(cable.near.space, &cable.near.device, near));
            let far = self.link.rate.map(Netem::held_to);
            let far = far.map(|netem| impair(cable.far.space, &cable.far.device, netem));
            wiring.impairments.extend(far);
        }
    }

    /// An address of its node for each server: servers that share a node serve on the same ports.
    pub(crate) fn server_slots(
        &self,
        wiring: &mut Wiring,
        shape: &Shape,
    ) -> Result<Vec<Slot>, Error> {
        let spread = Spread::of(shape);
        let homes: Vec<usize> = (0..shape.servers as usize).map(|one| spread.server(one)).collect();
        let mut free = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let count = homes.iter().filter(|&&home| home == at).count();
            let mine = node.addresses(wiring, u32::try_from(count.max(1)).unwrap_or(u32::MAX))?;
            for (other, &slot) in
                self.nodes.iter().flat_map(|other| mine.iter().map(move |slot| (other, slot)))
            {
                if other != node {
                    wiring.neighbour_at(other.space, UPLINK, slot, node.slot(0).mac());
                }
            }
            free.push(mine.into_iter());
        }
        let mut next = |home: &usize| free[*home].next().unwrap_or(self.nodes[*home].slot(0));
        Ok(homes.iter().map(&mut next).collect())
    }

    /// Lets the nodes speak IPv4 to each other as well, where the containers speak IPv6: tunnels go over it.
    pub(crate) fn speak_ipv4(&self, wiring: &mut Wiring) {
        if wiring.family == Family::Ipv4 {
            return;
        }
        for node in &self.nodes {
            wiring.addresses.push(Address {
                space: node.space,
                device: UPLINK.to_owned(),
                address: IpAddr::V4(node.ipv4()),
                prefix: crate::address::prefix_length(Family::Ipv4),
            });
        }
        for (one, other) in self.pairs() {
            wiring.neighbours.push(crate::wiring::Neighbour {
                space: one.space,
                device: UPLINK.to_owned(),
                address: IpAddr::V4(other.ipv4()),
                mac: other.slot(0).mac(),
            });
        }
    }

    /// What a packet passes from one node to another, their uplinks included.
    pub(crate) fn path(&self, from: usize, to: usize) -> Vec<Waypoint> {
        let [from, to] = [self.nodes[from], self.nodes[to]];
        vec![
            Waypoint::device(HopKind::Veth, from.space, UPLINK),
            Waypoint::device(HopKind::Veth, self.switch, from.port()),
            Waypoint::device(HopKind::Bridge, self.switch, SWITCH),
            Waypoint::device(HopKind::Veth, self.switch, to.port()),
            Waypoint::device(HopKind::Veth, to.space, UPLINK),
        ]
    }
}

impl Node {
    /// Its IPv4 address on the underlay.
    pub(crate) fn ipv4(self) -> Ipv4Addr {
        match self.slot(0).address(Family::Ipv4) {
            IpAddr::V4(address) => address,
            // The slot's address is of the family that was asked for.
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
        let link = Link { mtu: Some(9000), ..Link::default() };
        assert_eq!(mtu_inside(&shape, &Link::default(), 50), 1450);
        assert_eq!(mtu_inside(&shape, &link, 50), 8950);
        let wrong = Shape { mtu_by: MtuBy::User, ..shape };
        assert_eq!(mtu_inside(&wrong, &link, 50), 1500);
        assert_eq!(mtu_inside(&Shape { mtu: 9000, ..Shape::default() }, &link, 50), 9000);
    }

    #[test]
    fn links_are_limited_or_impaired_never_both() {
        for (link, limited, impaired) in
            [("rate=1gbit", 2, 0), ("delay=1ms", 0, 2), ("rate=1gbit,loss=1%", 0, 4)]
        {
            let link = Some(link.to_owned());
            let shape = Shape { nodes: 2, link, ..Shape::default() };
            let mut wiring = Wiring::new(Family::Ipv4, 1500);
            Underlay::add(&mut wiring, &shape, &[]).unwrap();
            let rates = wiring.cables.iter().filter(|cable| cable.rate.is_some()).count();
            assert_eq!((rates, wiring.impairments.len()), (limited, impaired));
        }
    }

    #[test]
    fn every_node_knows_every_other() {
        let mut wiring = Wiring::new(Family::Ipv6, 1450);
        let shape = Shape { nodes: 3, ..Shape::default() };
        let underlay = Underlay::add(&mut wiring, &shape, &[]).unwrap();
        assert_eq!(wiring.neighbours.len(), 6);
        assert!(wiring.cables.iter().all(|cable| cable.mtu == Some(1500)));
        underlay.speak_ipv4(&mut wiring);
        assert_eq!((wiring.neighbours.len(), wiring.addresses.len()), (12, 6));
    }
}
