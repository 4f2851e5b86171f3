//! Nodes, the underlay that joins them, and Docker's default bridge on one of them.

use crate::address::{Slot, Subnet};
use crate::docker::BRIDGE;
use crate::wiring::{Cable, End, Route, SpaceId, Station, Sysctl, Wiring};
use tare_network::{BitsPerSecond, Error};

/// The device by which a namespace is connected: a node to the underlay, a container to its bridge.
pub(crate) const UPLINK: &str = "eth0";

/// The name of the namespace between the nodes.
pub(crate) const UNDERLAY: &str = "underlay";

/// The bridge that joins the nodes' uplinks.
pub(crate) const SWITCH: &str = "underlay0";

/// How the names of nodes' namespaces begin; a number follows.
pub(crate) const NODE: &str = "node-";

/// Bridged packets do not pass netfilter: the underlay stands for switches, and a plain bridge is nothing but a bridge.
pub(crate) const BRIDGED_PAST_NETFILTER: [Sysctl; 2] = [
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "0"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "0"),
];

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its namespace.
    pub(crate) space: SpaceId,
    number: u8,
}

/// Adds nodes, all with the same settings, and the underlay that joins their uplinks.
pub(crate) fn add_nodes(wiring: &mut Wiring, count: u8, sysctls: &[Sysctl]) -> Vec<Node> {
    let underlay = wiring.space(UNDERLAY, &BRIDGED_PAST_NETFILTER);
    wiring.bridge(underlay, SWITCH, None);
    let nodes: Vec<Node> = (0..count)
        .map(|number| {
            let space = wiring.space(format!("{NODE}{number}"), sysctls);
            Node { space, number }
        })
        .collect();
    for node in &nodes {
        let near = End::new(underlay, node.port()).plugged_into(SWITCH);
        let far = End::new(node.space, UPLINK).with_mac(node.slot(0).mac());
        wiring.cables.push(Cable::new(near, far));
        wiring.address(node.space, UPLINK, node.slot(0));
    }
    nodes
}

impl Node {
    /// Its number, from 0.
    pub(crate) fn number(self) -> u8 {
        self.number
    }

    /// The port of the switch that it is plugged into.
    pub(crate) fn port(self) -> String {
        format!("veth-n{}", self.number)
    }

    /// How many addresses a node can have of its own.
    pub(crate) const MOST_ADDRESSES: u32 = 250;

    /// Its address of this number on the underlay; it has the first by itself.
    pub(crate) fn slot(self, index: u8) -> Slot {
        Subnet::UNDERLAY.slot(u16::from_be_bytes([self.number, 1 + index]))
    }

    /// Gives it more addresses, so that it has `count`; they are returned with the first.
    ///
    /// Servers that share a node's namespace serve on the same ports: each needs an address of its own.
    pub(crate) fn addresses(self, wiring: &mut Wiring, count: u32) -> Result<Vec<Slot>, Error> {
        let count =
            u8::try_from(count).ok().filter(|&count| u32::from(count) <= Self::MOST_ADDRESSES);
        let count = count.ok_or_else(|| {
            Error::new("give a node its addresses", "more servers than addresses")
                .with_remedy(format!("ask for at most {} servers", Self::MOST_ADDRESSES))
        })?;
        for index in 1..count {
            wiring.address(self.space, UPLINK, self.slot(index));
        }
        Ok((0..count).map(|index| self.slot(index)).collect())
    }
}

/// Docker's default bridge on a node, and the further bridges that hang on it where it has not ports enough.
pub(crate) struct DockerBridge {
    node: Node,
    rate: Option<BitsPerSecond>,
    plugged: u16,
    /// The device of each container's port, in their order.
    devices: Vec<String>,
    /// How many further bridges there are.
    further: u16,
}

/// A container on a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plugged {
    /// Its namespace.
    pub(crate) space: SpaceId,
    /// Its interface.
    pub(crate) slot: Slot,
}

impl DockerBridge {
    /// Adds the bridge, with the gateway's address; every container's link to it is limited to the rate.
    pub(crate) fn add(wiring: &mut Wiring, node: Node, rate: Option<BitsPerSecond>) -> Self {
        let bridge = Self { node, rate, plugged: 0, devices: Vec::new(), further: 0 };
        let gateway = bridge.gateway();
        wiring.bridge(node.space, BRIDGE, Some(gateway.mac()));
        wiring.address(node.space, BRIDGE, gateway);
        bridge
    }

    /// The most containers on it and the bridges that hang on it: its network has no more addresses.
    pub(crate) const MOST: u32 = 60_000;

    /// The ports of a Linux bridge, numbered from 1 (net/bridge/br_private.h, `BR_MAX_PORTS`).
    const PORTS: u16 = 1023;

    /// Refuses more containers than one bridge has ports, for networks that are one bridge.
    pub(crate) fn check_ports(name: &str, containers: u32) -> Result<(), Error> {
        if containers <= u32::from(Self::PORTS) {
            return Ok(());
        }
        let why = format!("a Linux bridge has {} ports, {containers} are needed", Self::PORTS);
        Err(Error::new(format!("lay out {name}"), why)
            .with_remedy("ask for fewer containers, or use bridge-plain, which takes more bridges"))
    }

    /// Adds further bridges, each joined to the first by a cable, until so many containers have ports.
    pub(crate) fn grow(&mut self, wiring: &mut Wiring, containers: u32) {
        while u32::from(self.ports()) < containers {
            self.further += 1;
            let (name, [near, far]) = (further(self.further), trunk(self.further));
            wiring.bridge(self.node.space, &name, None);
            let near = End::new(self.node.space, near).plugged_into(BRIDGE);
            let far = End::new(self.node.space, far).plugged_into(name);
            wiring.cables.push(Cable::new(near, far));
        }
    }

    /// How many containers can be plugged in.
    fn ports(&self) -> u16 {
        let all = u32::from(Self::PORTS) * (1 + u32::from(self.further));
        // A cable to a further bridge takes a port at both its ends.
        u16::try_from(all - 2 * u32::from(self.further)).unwrap_or(u16::MAX)
    }

    /// Which bridge the container of this place is plugged into, the first one that has a port: 0 for Docker's own.
    fn bridge_of(&self, place: u16) -> u16 {
        let own = Self::PORTS - self.further;
        place.checked_sub(own).map_or(0, |beyond| 1 + beyond / (Self::PORTS - 1))
    }

    /// Up to so many ports, whatever goes to all of them arrives at all of them.
    const FEW: u16 = 250;

    /// Lets all bridges know for good where these containers are, where there are so many that it cannot be left to what
    /// they send to everybody.
    pub(crate) fn announce(&self, wiring: &mut Wiring, containers: &[Plugged]) {
        if self.plugged <= Self::FEW {
            return;
        }
        for container in containers {
            let place = container.slot.number() - Self::FIRST;
            let own = self.bridge_of(place);
            let ports = (0..=self.further).map(|bridge| match (bridge, own) {
                (bridge, own) if bridge == own => self.devices[usize::from(place)].clone(),
                (0, own) => trunk(own)[0].clone(),
                (bridge, _) => trunk(bridge)[1].clone(),
            });
            wiring.stations.extend(ports.map(|port| Station {
                space: self.node.space,
                port,
                mac: container.slot.mac(),
            }));
        }
    }

    /// The number of the first container's slot: 1 is the gateway's.
    const FIRST: u16 = 2;

    /// Its network.
    pub(crate) fn subnet(&self) -> Subnet {
        Subnet::docker(self.node.number)
    }

    /// Its own interface.
    pub(crate) fn gateway(&self) -> Slot {
        self.subnet().slot(1)
    }

    /// Adds a container, plugged in by `port`.
    pub(crate) fn plug(&mut self, wiring: &mut Wiring, name: &str, port: &str) -> Plugged {
        let slot = self.subnet().slot(Self::FIRST + self.plugged);
        let bridge = match self.bridge_of(self.plugged) {
            0 => BRIDGE.to_owned(),
            number => further(number),
        };
        self.plugged += 1;
        self.devices.push(port.to_owned());
        let space = wiring.space(name, &[]);
        let near = End::new(self.node.space, port).plugged_into(bridge);
        let far = End::new(space, UPLINK).with_mac(slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(self.rate));
        wiring.address(space, UPLINK, slot);
        let gateway = self.gateway().address(wiring.family);
        wiring.routes.push(Route::default_via(space, gateway));
        Plugged { space, slot }
    }
}

/// The name of a further bridge, numbered from 1.
fn further(number: u16) -> String {
    format!("docker{number}")
}

/// The two ends of the cable by which a further bridge is joined: the first bridge's port, and its own.
fn trunk(number: u16) -> [String; 2] {
    [format!("trunk{number}"), format!("trunk{number}-{BRIDGE}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use tare_network::Family;

    /// How many ports of each bridge are taken by so many containers.
    fn taken(containers: u32) -> BTreeMap<String, usize> {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let node = add_nodes(&mut wiring, 1, &[])[0];
        let mut bridge = DockerBridge::add(&mut wiring, node, None);
        bridge.grow(&mut wiring, containers);
        for number in 0..containers {
            bridge.plug(&mut wiring, &format!("c{number}"), &format!("veth-c{number}"));
        }
        let mut taken = BTreeMap::new();
        for end in wiring.cables.iter().flat_map(Cable::ends).filter(|end| end.space == node.space)
        {
            if let Some(bridge) = &end.controller {
                *taken.entry(bridge.clone()).or_default() += 1;
            }
        }
        assert!(taken.keys().all(|name| wiring.bridges.iter().any(|bridge| bridge.name == *name)));
        taken
    }

    #[test]
    fn what_does_not_fit_one_bridge_goes_to_further_ones() {
        assert_eq!(taken(1023), BTreeMap::from([("docker0".to_owned(), 1023)]));
        let two = [("docker0", 1023), ("docker1", 3)].map(|(name, ports)| (name.to_owned(), ports));
        assert_eq!(taken(1024), BTreeMap::from(two));
        assert_eq!(taken(5000).len(), 5);
        let error = DockerBridge::check_ports("bridge", 1024).unwrap_err();
        assert!(error.to_string().contains("1023 ports, 1024 are needed"), "{error}");
        assert!(DockerBridge::check_ports("bridge", 1023).is_ok());
    }

    #[test]
    fn every_bridge_knows_where_a_server_is() {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let node = add_nodes(&mut wiring, 1, &[])[0];
        let mut bridge = DockerBridge::add(&mut wiring, node, None);
        bridge.grow(&mut wiring, 3_000);
        let all: Vec<Plugged> = (0..3_000)
            .map(|number| bridge.plug(&mut wiring, &format!("c{number}"), &format!("p{number}")))
            .collect();
        bridge.announce(&mut wiring, &[all[0], all[2_999]]);
        let ports: Vec<&str> = wiring.stations.iter().map(|one| one.port.as_str()).collect();
        // On the first bridge of three, and on the last.
        let first = ["p0", "trunk1-docker0", "trunk2-docker0"];
        assert_eq!(ports, [first, ["trunk2", "trunk1-docker0", "p2999"]].concat());
    }

    proptest! {
        #[test]
        fn no_bridge_has_more_ports_than_the_kernel_gives_it(containers in 1u32..8_000) {
            prop_assert!(taken(containers).values().all(|ports| *ports <= 1023));
        }
    }
}
