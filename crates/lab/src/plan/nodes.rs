//! Nodes, the underlay that joins them, and Docker's default bridge on a node.

use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::docker_rules::{BRIDGE, Communication, DockerRules, PublishedPort};
use crate::plan::namespace_id::NODE_PREFIX;
use crate::plan::wiring::{DevicePair, DevicePairEnd, FdbEntry, IpRoute, NamespaceId, Wiring};
use std::ops::Range;
use tare_network::{BitsPerSecond, Error, Family, FirewallBackend};
use tare_sandbox::Sysctl;

/// Device that connects a namespace: a node to the underlay, a container to its bridge.
pub(crate) const UPLINK: &str = "eth0";

/// Name of the namespace between the nodes.
pub(crate) const UNDERLAY: &str = "underlay";

/// Bridge that joins the uplinks of the nodes.
pub(crate) const UNDERLAY_BRIDGE: &str = "underlay0";

/// Bridged packets skip netfilter: the underlay stands for switches, and a plain bridge has no rules.
pub(crate) const BRIDGED_PAST_NETFILTER: [Sysctl; 2] = [
    Sysctl::if_there("net.bridge.bridge-nf-call-iptables", "0"),
    Sysctl::if_there("net.bridge.bridge-nf-call-ip6tables", "0"),
];

/// Node of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabNode {
    /// Namespace of the node.
    pub(crate) space: NamespaceId,
    number: u8,
}

/// Adds nodes, all with the same settings, and the underlay that joins their uplinks.
pub(crate) fn add_nodes(wiring: &mut Wiring, count: u8, sysctls: &[Sysctl]) -> Vec<LabNode> {
    let underlay = wiring.add_namespace(UNDERLAY, &BRIDGED_PAST_NETFILTER);
    wiring.add_bridge(underlay, UNDERLAY_BRIDGE, None);
    let nodes: Vec<LabNode> = (0..count)
        .map(|number| {
            let space = wiring.add_namespace(format!("{NODE_PREFIX}{number}"), sysctls);
            LabNode { space, number }
        })
        .collect();
    for node in &nodes {
        let near = DevicePairEnd::new(underlay, node.port()).attached_to(UNDERLAY_BRIDGE);
        let far = DevicePairEnd::new(node.space, UPLINK).with_mac(node.slot(0).mac());
        wiring.device_pairs.push(DevicePair::new(near, far));
        wiring.add_address(node.space, UPLINK, node.slot(0));
    }
    nodes
}

impl LabNode {
    /// Returns the number of the node, from 0.
    pub(crate) fn number(self) -> u8 {
        self.number
    }

    /// Returns the port of the underlay's bridge that the node is attached to.
    pub(crate) fn port(self) -> String {
        format!("veth-n{}", self.number)
    }

    /// Largest number of addresses of a node.
    pub(crate) const MOST_ADDRESSES: u32 = 250;

    /// Returns the node's slot of this number on the underlay. Every node has the first by default.
    pub(crate) fn slot(self, index: u8) -> InterfaceSlot {
        LabSubnet::UNDERLAY.slot(u16::from_be_bytes([self.number, 1 + index]))
    }

    /// Adds addresses to the node until it has `count`. Returns all of them, the first included.
    ///
    /// Servers that share a node's namespace listen on the same ports, so each needs an address of its own.
    pub(crate) fn addresses(
        self,
        wiring: &mut Wiring,
        count: u32,
    ) -> Result<Vec<InterfaceSlot>, Error> {
        let count =
            u8::try_from(count).ok().filter(|&count| u32::from(count) <= Self::MOST_ADDRESSES);
        let count = count.ok_or_else(|| {
            Error::new("assign addresses to a node", "a node has fewer addresses than servers")
                .with_remedy(format!("use --servers {} or fewer", Self::MOST_ADDRESSES))
        })?;
        for index in 1..count {
            wiring.add_address(self.space, UPLINK, self.slot(index));
        }
        Ok((0..count).map(|index| self.slot(index)).collect())
    }
}

/// Docker's default bridge on a node, and further bridges that are joined to it if it has too few ports.
pub(crate) struct DockerBridge {
    node: LabNode,
    rate: Option<BitsPerSecond>,
    containers: u16,
    /// Device of each container's port, in the order of the containers.
    devices: Vec<String>,
    /// Number of further bridges.
    further_bridges: u16,
}

/// Container on a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BridgedContainer {
    /// Namespace of the container.
    pub(crate) space: NamespaceId,
    /// Slot of the container's interface.
    pub(crate) slot: InterfaceSlot,
}

impl DockerBridge {
    /// Adds the bridge, with the address of the gateway. `rate` limits every container's link to it.
    pub(crate) fn add(wiring: &mut Wiring, node: LabNode, rate: Option<BitsPerSecond>) -> Self {
        let bridge = Self { node, rate, containers: 0, devices: Vec::new(), further_bridges: 0 };
        let gateway = bridge.gateway();
        wiring.add_bridge(node.space, BRIDGE, Some(gateway.mac()));
        wiring.add_address(node.space, BRIDGE, gateway);
        bridge
    }

    /// Largest number of containers on it and on the further bridges: its network has no more addresses.
    pub(crate) const MOST: u32 = 60_000;

    /// Number of ports of a Linux bridge, numbered from 1 (net/bridge/br_private.h, `BR_MAX_PORTS`).
    const PORTS: u16 = 1023;

    /// Refuses more containers than one bridge has ports, for networks that are one bridge.
    pub(crate) fn check_ports(name: &str, containers: u32) -> Result<(), Error> {
        if containers <= u32::from(Self::PORTS) {
            return Ok(());
        }
        let why = format!("a Linux bridge has {} ports, {containers} are needed", Self::PORTS);
        Err(Error::new(format!("lay out {name}"), why)
            .with_remedy("use fewer containers, or bridge-plain, which has several bridges"))
    }

    /// Refuses more containers than the network of the bridge has addresses.
    pub(crate) fn check_addresses(name: &str, containers: u32) -> Result<(), Error> {
        if containers <= Self::MOST {
            return Ok(());
        }
        let why = format!("at most {} containers are supported", Self::MOST);
        Err(Error::new(format!("lay out {name}"), why).with_remedy("use fewer containers"))
    }

    /// Adds further bridges, each joined to the first by a veth pair, until this many containers have ports.
    pub(crate) fn add_bridges(&mut self, wiring: &mut Wiring, containers: u32) {
        while u32::from(self.ports()) < containers {
            self.further_bridges += 1;
            let (name, [near, far]) =
                (further_bridge_name(self.further_bridges), trunk_devices(self.further_bridges));
            wiring.add_bridge(self.node.space, &name, None);
            let near = DevicePairEnd::new(self.node.space, near).attached_to(BRIDGE);
            let far = DevicePairEnd::new(self.node.space, far).attached_to(name);
            wiring.device_pairs.push(DevicePair::new(near, far));
        }
    }

    /// Returns the number of containers that can be attached.
    fn ports(&self) -> u16 {
        let all = u32::from(Self::PORTS) * (1 + u32::from(self.further_bridges));
        // The veth pair to a further bridge takes a port at both its ends.
        u16::try_from(all - 2 * u32::from(self.further_bridges)).unwrap_or(u16::MAX)
    }

    /// Returns the number of the bridge for the container at this place, which is the first bridge with a free port: 0
    /// for Docker's own.
    fn bridge_of(&self, place: u16) -> u16 {
        let own = Self::PORTS - self.further_bridges;
        place.checked_sub(own).map_or(0, |beyond| 1 + beyond / (Self::PORTS - 1))
    }

    /// Number of ports up to which a frame that is flooded to all of them arrives at all of them.
    const FEW: u16 = 250;

    /// Adds static entries for these containers to all bridges, if there are so many that flooding is not reliable.
    pub(crate) fn add_fdb_entries(&self, wiring: &mut Wiring, containers: &[BridgedContainer]) {
        if self.containers <= Self::FEW {
            return;
        }
        for container in containers {
            let place = container.slot.number() - Self::FIRST;
            let own = self.bridge_of(place);
            let ports = (0..=self.further_bridges).map(|bridge| match (bridge, own) {
                (bridge, own) if bridge == own => self.devices[usize::from(place)].clone(),
                (0, own) => trunk_devices(own)[0].clone(),
                (bridge, _) => trunk_devices(bridge)[1].clone(),
            });
            wiring.fdb_entries.extend(ports.map(|port| FdbEntry {
                space: self.node.space,
                port,
                mac: container.slot.mac(),
            }));
        }
    }

    /// Number of the first container's slot. Slot 1 is that of the gateway.
    const FIRST: u16 = 2;

    /// Returns the network of the bridge.
    pub(crate) fn subnet(&self) -> LabSubnet {
        LabSubnet::docker(self.node.number)
    }

    /// Returns the slot of the bridge's own interface.
    pub(crate) fn gateway(&self) -> InterfaceSlot {
        self.subnet().slot(1)
    }

    /// Returns the slots of the containers that are attached so far.
    pub(crate) fn container_slots(&self) -> Vec<InterfaceSlot> {
        (0..self.containers).map(|place| self.subnet().slot(Self::FIRST + place)).collect()
    }

    /// Adds a container that is attached by the device `port`.
    pub(crate) fn add_container(
        &mut self,
        wiring: &mut Wiring,
        name: &str,
        port: &str,
    ) -> BridgedContainer {
        let slot = self.subnet().slot(Self::FIRST + self.containers);
        let bridge = match self.bridge_of(self.containers) {
            0 => BRIDGE.to_owned(),
            number => further_bridge_name(number),
        };
        self.containers += 1;
        self.devices.push(port.to_owned());
        let space = wiring.add_namespace(name, &[]);
        let near = DevicePairEnd::new(self.node.space, port).attached_to(bridge);
        let far = DevicePairEnd::new(space, UPLINK).with_mac(slot.mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(self.rate));
        wiring.add_address(space, UPLINK, slot);
        let gateway = self.gateway().address(wiring.family);
        wiring.routes.push(IpRoute::default_via(space, gateway));
        BridgedContainer { space, slot }
    }
}

impl DockerBridge {
    /// Returns Docker's rules for the containers that are attached so far, with these published ports.
    pub(crate) fn published_rules(
        &self,
        backend: FirewallBackend,
        family: Family,
        published: &[PublishedPort],
    ) -> String {
        let rules = DockerRules {
            backend,
            family,
            subnet: self.subnet(),
            containers: &self.container_slots(),
            published,
            communication: Communication::All,
        };
        rules.text()
    }

    /// Adds containers with these numbers in which nothing runs.
    pub(crate) fn add_idle_containers(&mut self, wiring: &mut Wiring, numbers: Range<u32>) {
        for number in numbers {
            self.add_container(wiring, &format!("idle-{number}"), &format!("veth-i{number}"));
        }
    }
}

/// Returns the name of a further bridge, numbered from 1.
fn further_bridge_name(number: u16) -> String {
    format!("docker{number}")
}

/// Returns the two ends of the veth pair to a further bridge: the port of the first bridge, and that of the further
/// one.
fn trunk_devices(number: u16) -> [String; 2] {
    [format!("trunk{number}"), format!("trunk{number}-{BRIDGE}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Returns the number of ports of each bridge that this many containers take.
    fn taken(containers: u32) -> BTreeMap<String, usize> {
        let mut wiring = Wiring::new(Family::Ipv4, 1500);
        let node = add_nodes(&mut wiring, 1, &[])[0];
        let mut bridge = DockerBridge::add(&mut wiring, node, None);
        bridge.add_bridges(&mut wiring, containers);
        for number in 0..containers {
            bridge.add_container(&mut wiring, &format!("c{number}"), &format!("veth-c{number}"));
        }
        let mut taken = BTreeMap::new();
        for end in wiring
            .device_pairs
            .iter()
            .flat_map(DevicePair::ends)
            .filter(|end| end.space == node.space)
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
        bridge.add_bridges(&mut wiring, 3_000);
        let all: Vec<BridgedContainer> = (0..3_000)
            .map(|number| {
                bridge.add_container(&mut wiring, &format!("c{number}"), &format!("p{number}"))
            })
            .collect();
        bridge.add_fdb_entries(&mut wiring, &[all[0], all[2_999]]);
        let ports: Vec<&str> = wiring.fdb_entries.iter().map(|one| one.port.as_str()).collect();
        // One container on the first of three bridges, one on the last.
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
