//! `macvlan-nat`: every container has an external address on a macvlan device of the node, translated by rules.
//!
//! The 2014 study of inter-container communication called this "iptables". Client and server are containers on Docker's
//! bridge; the client dials the server's external address.

use crate::networks::LabNetworkDefinition;
use crate::networks::single_host::bridge::{
    AFTER_THE_BRIDGE, DOCKER_HOST, conntrack_hop, docker_requirements,
};
use crate::networks::single_host::bridge_plain::{BridgeLayout, layout_on_bridge};
use crate::plan::address::{InterfaceSlot, host_prefix};
use crate::plan::docker_rules::{BRIDGE, Communication, forward_hop};
use crate::plan::layout::{Layout, PathProof, Waypoint, client_routes};
use crate::plan::nodes::UPLINK;
use crate::plan::uplink::{check_capacity, slot};
use crate::plan::wiring::{
    ChildDevice, DeviceSysctl, InterfaceAddress, NamespaceId, ParentDevice, Ruleset, Wiring,
};
use std::fmt::Write;
use std::net::IpAddr;
use tare_network::{
    Error, Family, FirewallBackend, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters,
    Requirement, Shape,
};
use tare_sandbox::devices::Macvlan;

pub(crate) struct MacvlanNatNetwork;

impl LabNetworkDefinition for MacvlanNatNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "macvlan-nat",
            summary: "an external address for each container, on a macvlan device of the node, translated",
            stands_for: "the 2014 recipe `iptables`: containers with external addresses, by DNAT and SNAT rules",
            source: "Docker network performance (2014): iptables",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = docker_requirements();
        needs.push(Requirement::Kernel { module: "macvlan" });
        needs
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_capacity("macvlan-nat", shape)?;
        let bridge = layout_on_bridge("macvlan-nat", shape, site, &DOCKER_HOST)?;
        let backend = FirewallBackend::Iptables;
        let mut text = bridge.rules(backend, Communication::All).text();
        let BridgeLayout { mut layout, node, gateway, servers, clients, .. } = bridge;
        let containers: Vec<InterfaceSlot> =
            servers.iter().chain(&clients).map(|one| one.slot).collect();
        let external: Vec<ExternalAddress> =
            (0..).zip(&containers).map(|(index, &own)| ExternalAddress::new(index, own)).collect();
        for one in &external {
            one.add(&mut layout.wiring, node.space);
            layout.wiring.add_neighbour(node.space, BRIDGE, one.own);
        }
        for one in servers.iter().chain(&clients) {
            layout.wiring.add_neighbour(one.space, UPLINK, gateway);
        }
        for one in &external {
            text.push_str(&one.rules(shape.family));
        }
        layout.wiring.rules.push(Ruleset { space: node.space, text });
        layout.routes = client_routes(shape, site, |_, server| {
            let one = &external[server];
            (one.own.address(shape.family), one.address(shape.family))
        });
        let place = layout.wiring.name(node.space);
        let translation = Hop::new(HopKind::Nat, "nat/PREROUTING", place)
            .with_detail(external[0].dnat_rule(shape.family));
        // br_netfilter translates before the bridge chooses a port, and filters afterwards.
        let (before, after) = ([conntrack_hop(place), translation], forward_hop(backend, place));
        layout.path.insert(AFTER_THE_BRIDGE, Waypoint::Other(after));
        let at = AFTER_THE_BRIDGE - 1;
        layout.path.splice(at..at, before.map(Waypoint::Other));
        layout.proof = Some(PathProof::Rule { space: node.space, rule: "dnat to" });
        Ok(layout)
    }
}

/// External address of a container.
struct ExternalAddress {
    /// Macvlan device of the node that has the address.
    device: String,
    /// Position of the external address in the address plan.
    slot: InterfaceSlot,
    /// Position of the container's own address.
    own: InterfaceSlot,
}

impl ExternalAddress {
    fn new(index: u32, own: InterfaceSlot) -> Self {
        Self { device: format!("mvpub{index}"), slot: slot(index), own }
    }

    fn address(&self, family: Family) -> IpAddr {
        self.slot.address(family)
    }

    /// Adds the device, which answers ARP requests for its own address only, and the address with a host prefix.
    fn add(&self, wiring: &mut Wiring, node: NamespaceId) {
        let parent = ParentDevice::new(node, UPLINK);
        let device = ChildDevice::new(node, &self.device, parent, Macvlan);
        wiring.child_devices.push(device.with_mac(self.slot.mac()));
        let prefix = host_prefix(wiring.family);
        if wiring.family == Family::Ipv4 {
            for (key, value) in [("arp_ignore", "1"), ("arp_announce", "2")] {
                let key = format!("net.ipv4.conf.{}.{key}", self.device);
                wiring.settings.push(DeviceSysctl::required(node, key, value));
            }
        }
        let (device, address) = (self.device.clone(), self.address(wiring.family));
        wiring.addresses.push(InterfaceAddress { space: node, device, address, prefix });
    }

    /// Returns the DNAT rule for packets to the external address.
    fn dnat_rule(&self, family: Family) -> String {
        let (ip, external, own) =
            (nft_family(family), self.address(family), self.own.address(family));
        format!("{ip} daddr {external} counter dnat to {own}")
    }

    /// Returns the SNAT rule for the container's packets that leave the node.
    fn snat_rule(&self, family: Family) -> String {
        let (ip, external, own) =
            (nft_family(family), self.address(family), self.own.address(family));
        format!("{ip} saddr {own} oifname \"{UPLINK}\" counter snat to {external}")
    }

    /// Returns the commands that add both rules to Docker's; the SNAT rule is inserted before Docker's own translation.
    fn rules(&self, family: Family) -> String {
        let table = nft_family(family);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "add rule {table} nat PREROUTING {}", self.dnat_rule(family));
        let _ = writeln!(text, "insert rule {table} nat POSTROUTING {}", self.snat_rule(family));
        text
    }
}

/// Returns the name of an address family in nft(8).
fn nft_family(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    }
}
