//! `ptp`: containers that are each joined to their node by a veth pair, and routed there. There is no bridge.

use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::address::{InterfaceSlot, LabSubnet, host_prefix};
use crate::plan::layout::{Layout, Waypoint, check_one_node};
use crate::plan::node_containers::{NodeContainer, NodeContainers};
use crate::plan::nodes::{LabNode, UPLINK, add_nodes};
use crate::plan::underlay::ROUTER;
use crate::plan::wiring::{DevicePair, DevicePairEnd, InterfaceAddress, IpRoute, Wiring};
use tare_network::{
    BitsPerSecond, Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement,
    Shape,
};
use tare_sandbox::addressing::RouteDestination;

pub(crate) struct PtpNetwork;

impl LabNetworkDefinition for PtpNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ptp",
            summary: "two containers routed by their node, each joined to it by a veth pair, no bridge",
            stands_for: "the CNI's ptp plugin, and a node's pods with Calico, Cilium or kindnet, without their rules",
            source: "CNI plugins, plugins/main/ptp",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        // The bridge is that between nodes.
        veth_and_bridge_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let pods = layout_pods("ptp", shape, site.options.rate)?;
        let path = pods.path_to_node().into_iter().chain(pods.path_to_server()).collect();
        Ok(pods.containers.layout(pods.wiring, path, shape, site))
    }
}

/// Containers of a node, wired.
pub(crate) struct RoutedPods {
    /// Wiring, with the node and all containers.
    pub(crate) wiring: Wiring,
    /// Node of the containers.
    pub(crate) node: LabNode,
    /// Containers, each on its own veth pair.
    pub(crate) containers: NodeContainers,
}

/// Lays out the containers of a shape on one node. `rate` limits every container's link.
///
/// Fails if the shape does not fit one node.
pub(crate) fn layout_pods(
    name: &str,
    shape: &Shape,
    rate: Option<BitsPerSecond>,
) -> Result<RoutedPods, Error> {
    check_one_node(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, &ROUTER)[0];
    let mut joined = 0;
    let containers = NodeContainers::place(shape, |at, name, port| {
        let slot = LabSubnet::docker(node.number()).slot(FIRST + joined);
        joined += 1;
        let space = wiring.add_namespace(name, &[]);
        let pod = NodeContainer { node: at, space, slot, port: format!("veth-{port}") };
        join_to_node(&mut wiring, node, &pod, rate);
        pod
    });
    Ok(RoutedPods { wiring, node, containers })
}

/// Number of the first container's slot. Slot 1 is that of the gateway.
const FIRST: u16 = 2;

/// Joins a container to its node, as the plugin does: the node's end of every pair has the gateway's address, and the
/// only route of the container without a gateway is that to the gateway.
fn join_to_node(
    wiring: &mut Wiring,
    node: LabNode,
    pod: &NodeContainer,
    rate: Option<BitsPerSecond>,
) {
    let gateway = LabSubnet::docker(node.number()).slot(1);
    let family = wiring.family;
    let near = DevicePairEnd::new(node.space, pod.port.as_str()).with_mac(gateway.mac());
    let far = DevicePairEnd::new(pod.space, UPLINK).with_mac(pod.slot.mac());
    wiring.device_pairs.push(DevicePair::new(near, far).limited_to(rate));
    let ends = [(node.space, pod.port.as_str(), gateway), (pod.space, UPLINK, pod.slot)];
    wiring.addresses.extend(ends.map(|(space, device, slot)| InterfaceAddress {
        space,
        device: device.to_owned(),
        address: slot.address(family),
        prefix: host_prefix(family),
    }));
    let host =
        |slot: InterfaceSlot| RouteDestination::Net(slot.address(family), host_prefix(family));
    wiring.routes.push(IpRoute::by_device(node.space, host(pod.slot), pod.port.as_str()));
    wiring.routes.push(IpRoute::by_device(pod.space, host(gateway), UPLINK));
    wiring.routes.push(IpRoute::default_via(pod.space, gateway.address(family)));
    wiring.add_neighbour(node.space, &pod.port, pod.slot);
    wiring.add_neighbour(pod.space, UPLINK, gateway);
}

impl RoutedPods {
    /// Returns the path of a packet from client 0 into the node.
    pub(crate) fn path_to_node(&self) -> [Waypoint; 2] {
        let client = &self.containers.clients[0];
        [
            Waypoint::device(HopKind::Veth, client.space, UPLINK),
            Waypoint::device(HopKind::Veth, self.node.space, client.port.as_str()),
        ]
    }

    /// Returns the path of a packet from the node to server 0.
    pub(crate) fn path_to_server(&self) -> [Waypoint; 2] {
        let server = &self.containers.servers[0];
        [
            Waypoint::device(HopKind::Veth, self.node.space, server.port.as_str()),
            Waypoint::device(HopKind::Veth, server.space, UPLINK),
        ]
    }
}
