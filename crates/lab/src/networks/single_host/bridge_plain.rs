//! `bridge-plain`, which is also `bridge+plain`: two containers on a bridge without netfilter.

use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::docker_rules::{BRIDGE, Communication, DockerRules};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, Waypoint, check_one_node, direct_routes, server_of,
};
use crate::plan::nodes::{
    BRIDGED_PAST_NETFILTER, BridgedContainer, DockerBridge, LabNode, UPLINK, add_nodes,
};
use crate::plan::wiring::Wiring;
use tare_network::{
    Error, FirewallBackend, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement,
    Shape,
};
use tare_sandbox::Sysctl;

pub(crate) struct PlainBridgeNetwork;

impl LabNetworkDefinition for PlainBridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "bridge-plain",
            summary: "two containers on a bridge, without netfilter; beyond 1,023 of them on several bridges",
            stands_for: "dockerd --iptables=false --ip6tables=false, br_netfilter off",
            source: "https://docs.docker.com/engine/network/packet-filtering-firewalls/",
            options: &NetworkOption::PLAIN_BRIDGE,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        veth_and_bridge_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("bridge-plain", shape, site)
    }
}

/// Lays out containers on bridges without netfilter.
pub(crate) fn layout(name: &str, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
    Ok(layout_on_bridges(name, shape, site, &BRIDGED_PAST_NETFILTER)?.layout)
}

/// Layout of containers on a bridge, and the parts that rules on the bridge refer to.
pub(crate) struct BridgeLayout {
    /// Whole layout, without rules.
    pub(crate) layout: Layout,
    /// Node of the bridge.
    pub(crate) node: LabNode,
    /// Subnet of the bridge.
    pub(crate) subnet: LabSubnet,
    /// Address of the bridge itself.
    pub(crate) gateway: InterfaceSlot,
    /// Servers, in their order.
    pub(crate) servers: Vec<BridgedContainer>,
    /// Clients, in their order.
    pub(crate) clients: Vec<BridgedContainer>,
    /// Slots of all containers.
    pub(crate) containers: Vec<InterfaceSlot>,
}

impl BridgeLayout {
    /// Returns Docker's rules on the node, without published ports.
    pub(crate) fn rules<'a>(
        &'a self,
        backend: FirewallBackend,
        communication: Communication<'a>,
    ) -> DockerRules<'a> {
        DockerRules {
            backend,
            family: self.layout.wiring.family,
            subnet: self.subnet,
            containers: &self.containers,
            published: &[],
            communication,
        }
    }
}

/// Lays out servers and clients on Docker's default bridge, on a node with these sysctls.
///
/// Fails if they are more than a bridge has ports.
pub(crate) fn layout_on_bridge(
    name: &str,
    shape: &Shape,
    site: &NetworkParameters,
    sysctls: &[Sysctl],
) -> Result<BridgeLayout, Error> {
    // The networks that extend this layout have rules or devices for one bridge only.
    DockerBridge::check_ports(name, container_count(shape, site))?;
    layout_on_bridges(name, shape, site, sysctls)
}

/// Returns the number of containers on the bridge: servers, clients and idle ones.
fn container_count(shape: &Shape, site: &NetworkParameters) -> u32 {
    let measured = shape.servers.saturating_add(shape.clients);
    measured.saturating_add(site.options.idle.unwrap_or_default())
}

/// Lays out servers, clients and idle containers on as many bridges as their ports need.
fn layout_on_bridges(
    name: &str,
    shape: &Shape,
    site: &NetworkParameters,
    sysctls: &[Sysctl],
) -> Result<BridgeLayout, Error> {
    check_one_node(name, shape)?;
    let containers = container_count(shape, site);
    DockerBridge::check_addresses(name, containers)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, sysctls)[0];
    let mut bridge = DockerBridge::add(&mut wiring, node, site.options.rate);
    bridge.add_bridges(&mut wiring, containers);
    let mut plug = |role: &str, count: u32| -> Vec<BridgedContainer> {
        (0..count)
            .map(|index| {
                let (name, port) =
                    (format!("{role}-{index}"), format!("veth-{}{index}", &role[..1]));
                bridge.add_container(&mut wiring, &name, &port)
            })
            .collect()
    };
    let servers = plug("server", shape.servers);
    let clients = plug("client", shape.clients);
    bridge.add_idle_containers(&mut wiring, 0..site.options.idle.unwrap_or_default());
    bridge.add_fdb_entries(&mut wiring, &servers);
    for (index, client) in clients.iter().enumerate() {
        let server = servers[server_of(index, shape)];
        wiring.add_neighbour(client.space, UPLINK, server.slot);
        wiring.add_neighbour(server.space, UPLINK, client.slot);
    }
    let endpoint =
        |one: &BridgedContainer| NamespaceEndpoint::at_slot(one.space, one.slot, shape.family);
    let ends: Vec<NamespaceEndpoint> = servers.iter().map(endpoint).collect();
    let layout = Layout {
        clients: clients.iter().map(endpoint).collect(),
        routes: direct_routes(shape, site, &ends),
        servers: ends,
        path: vec![
            Waypoint::device(HopKind::Veth, clients[0].space, UPLINK),
            Waypoint::device(HopKind::Veth, node.space, "veth-c0"),
            Waypoint::device(HopKind::Bridge, node.space, BRIDGE),
            Waypoint::device(HopKind::Veth, node.space, "veth-s0"),
            Waypoint::device(HopKind::Veth, servers[0].space, UPLINK),
        ],
        proof: None,
        wiring,
    };
    let (subnet, gateway) = (bridge.subnet(), bridge.gateway());
    let containers = bridge.container_slots();
    Ok(BridgeLayout { layout, node, subnet, gateway, servers, clients, containers })
}
