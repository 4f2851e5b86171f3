//! `pipework`: containers on Docker's bridge, each with a second interface on a second bridge.
//!
//! It does what the shell script pipework does for `pipework br1 CONTAINER ADDRESS`, with the same names. The script
//! itself is not run, because it looks for containers of a container engine.

use crate::networks::single_host::bridge::{
    AFTER_THE_BRIDGE, DOCKER_HOST, conntrack_hop, docker_requirements,
};
use crate::networks::single_host::bridge_plain::{BridgeLayout, layout_on_bridge};
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::docker_rules::Communication;
use crate::plan::layout::{
    Layout, NamespaceEndpoint, PathProof, Waypoint, client_routes, server_of,
};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, BridgedContainer, LabNode};
use crate::plan::wiring::{DevicePair, DevicePairEnd, Ruleset, Wiring};
use tare_network::{
    Error, Family, FirewallBackend, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters,
    Requirement, Shape,
};

pub(crate) struct PipeworkNetwork;

/// Name of the second bridge.
const BRIDGE: &str = "br1";
/// Name of a container's second interface, pipework's default.
pub(crate) const SECOND: &str = "eth1";
/// Match of the rule that an administrator adds, because Docker drops packets that it does not know.
const ACCEPTED: &str = "iifname \"br1\" oifname \"br1\"";

impl LabNetworkDefinition for PipeworkNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "pipework",
            summary: "two containers on a second bridge, each by a veth pair with a fixed address",
            stands_for: "pipework br1 CONTAINER ADDRESS: its steps, not the script itself",
            source: "https://github.com/jpetazzo/pipework",
            options: &NetworkOption::WIRED,
        }
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        if site.options.plain { veth_and_bridge_requirements() } else { docker_requirements() }
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let plain = site.options.plain;
        let sysctls = if plain { &BRIDGED_PAST_NETFILTER[..] } else { &DOCKER_HOST[..] };
        let bridge = layout_on_bridge("pipework", shape, site, sysctls)?;
        let rules = bridge.rules(FirewallBackend::Iptables, Communication::All);
        let rules = (!plain).then(|| rules.text());
        let BridgeLayout { mut layout, node, servers, clients, .. } = bridge;
        layout.wiring.add_bridge(node.space, BRIDGE, None);
        let containers: Vec<SecondInterface> = (0..)
            .zip(servers.iter().chain(&clients))
            .map(|(number, one)| SecondInterface { on: *one, number })
            .collect();
        for one in &containers {
            one.plug(&mut layout.wiring, node, site);
        }
        let (servers, clients) = containers.split_at(servers.len());
        for (index, client) in clients.iter().enumerate() {
            let server = &servers[server_of(index, shape)];
            layout.wiring.add_neighbour(client.on.space, SECOND, server.slot());
            layout.wiring.add_neighbour(server.on.space, SECOND, client.slot());
        }
        layout.servers = servers.iter().map(|one| one.endpoint(shape.family)).collect();
        layout.clients = clients.iter().map(|one| one.endpoint(shape.family)).collect();
        layout.routes = client_routes(shape, site, |_, server| {
            let address = servers[server].slot().address(shape.family);
            (address, address)
        });
        layout.path = vec![
            Waypoint::device(HopKind::Veth, clients[0].on.space, SECOND),
            Waypoint::device(HopKind::Veth, node.space, clients[0].node_device()),
            Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
            Waypoint::device(HopKind::Veth, node.space, servers[0].node_device()),
            Waypoint::device(HopKind::Veth, servers[0].on.space, SECOND),
        ];
        layout.proof =
            Some(PathProof::Device { space: node.space, name: servers[0].node_device() });
        if let Some(rules) = rules {
            add_filter(&mut layout, node, rules);
        }
        Ok(layout)
    }
}

/// Adds Docker's rules, which the second bridge's packets pass too, and the rule that accepts these packets.
fn add_filter(layout: &mut Layout, node: LabNode, docker_rules: String) {
    let family = layout.wiring.family;
    let table = match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    };
    let mut text = docker_rules;
    text.push_str(&format!("add rule {table} filter DOCKER-USER {ACCEPTED} counter accept\n"));
    layout.wiring.rules.push(Ruleset { space: node.space, text });
    let place = layout.wiring.name(node.space);
    let accepted = Hop::new(HopKind::Filter, "filter/DOCKER-USER", place)
        .with_detail(format!("{ACCEPTED} counter accept"));
    let rules = [conntrack_hop(place), accepted];
    layout.path.splice(AFTER_THE_BRIDGE..AFTER_THE_BRIDGE, rules.map(Waypoint::Other));
    layout.proof = Some(PathProof::Rule { space: node.space, rule: ACCEPTED });
}

/// Second interface of a container, with a number for its names; pipework uses the PID.
struct SecondInterface {
    on: BridgedContainer,
    number: u16,
}

impl SecondInterface {
    /// Returns the position of its address in the address plan.
    fn slot(&self) -> InterfaceSlot {
        LabSubnet::PIPEWORK.slot(1 + self.number)
    }

    /// Returns the name of the node's end of its veth pair.
    fn node_device(&self) -> String {
        format!("v{SECOND}pl{}", self.number)
    }

    fn endpoint(&self, family: Family) -> NamespaceEndpoint {
        NamespaceEndpoint { space: Some(self.on.space), address: self.slot().address(family) }
    }

    /// Adds the veth pair, with the fixed address.
    fn plug(&self, wiring: &mut Wiring, node: LabNode, site: &NetworkParameters) {
        let near = DevicePairEnd::new(node.space, self.node_device()).attached_to(BRIDGE);
        let far = DevicePairEnd::new(self.on.space, SECOND).with_mac(self.slot().mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(site.options.rate));
        wiring.add_address(self.on.space, SECOND, self.slot());
    }
}
