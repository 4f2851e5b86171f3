//! `ovs`: containers on an Open vSwitch bridge, one port each, forwarded by the kernel; and the layout that it shares
//! with `ovs-user`, `ovs-bridge` and `ovs-user-bridge`.

pub(crate) mod openvswitch;
pub(crate) mod ovs_bridge;
pub(crate) mod ovs_bridge_vxlan;
pub(crate) mod ovs_internal;
pub(crate) mod ovs_tunnels;
pub(crate) mod ovs_user;
pub(crate) mod ovs_user_bridge;
pub(crate) mod ovs_user_bridge_vxlan;
pub(crate) mod ovs_user_internal;
pub(crate) mod ovs_user_vxlan;
pub(crate) mod ovs_vxlan;

use crate::networks::ovs::openvswitch::{OvsBridgeSpec, OvsDatapath, OvsPort};
use crate::networks::{LabNetworkDefinition, veth_and_bridge_requirements};
use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, Waypoint, check_one_node, direct_routes, server_of,
};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, UPLINK, add_nodes};
use crate::plan::wiring::{DevicePair, DevicePairEnd, NamespaceId, Wiring};
use tare_network::{
    BitsPerSecond, Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement,
    Shape,
};

pub(crate) struct OvsNetwork;

pub(crate) const SOURCE: &str = "https://docs.openvswitch.org/en/latest/intro/install/general/";

impl LabNetworkDefinition for OvsNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "ovs",
            summary: "two containers on an Open vSwitch bridge, forwarded by the kernel",
            stands_for: "Open vSwitch itself, private to the lab",
            source: SOURCE,
            options: &[NetworkOption::Rate],
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        ovs_requirements(OvsDatapath::Kernel)
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        layout("ovs", shape, site, OvsDatapath::Kernel, OvsAttachment::Direct)
    }
}

/// Returns the requirements of Open vSwitch and its ports.
pub(crate) fn ovs_requirements(datapath: OvsDatapath) -> Vec<Requirement> {
    veth_and_bridge_requirements().into_iter().chain(datapath.requirements()).collect()
}

/// Devices between a container's veth pair and Open vSwitch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OvsAttachment {
    Direct,
    LinuxBridge,
}

/// Container with its devices on the node, up to Open vSwitch.
pub(crate) struct OvsContainer {
    pub(crate) space: NamespaceId,
    pub(crate) slot: InterfaceSlot,
    /// Devices on the node, in order: the first is the other end of the container's veth pair, the last is the port of
    /// Open vSwitch.
    pub(crate) devices: Vec<(HopKind, String)>,
}

/// Lays out a node with Open vSwitch and containers on it.
pub(crate) fn layout(
    name: &str,
    shape: &Shape,
    site: &NetworkParameters,
    datapath: OvsDatapath,
    between: OvsAttachment,
) -> Result<Layout, Error> {
    check_one_node(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0].space;
    let mut slots = (2..).map(|number| LabSubnet::docker(0).slot(number));
    let mut plug = |role: &str, count: u32| -> Vec<OvsContainer> {
        let numbered = (0..count).zip(&mut slots);
        numbered
            .map(|(index, slot)| {
                let container = wiring.add_namespace(format!("{role}-{index}"), &[]);
                let suffix = format!("{}{index}", &role[..1]);
                plug_in(&mut wiring, node, container, slot, &suffix, between, site.options.rate)
            })
            .collect()
    };
    let servers = plug("server", shape.servers);
    let clients = plug("client", shape.clients);
    for (index, client) in clients.iter().enumerate() {
        let server = &servers[server_of(index, shape)];
        wiring.add_neighbour(client.space, UPLINK, server.slot);
        wiring.add_neighbour(server.space, UPLINK, client.slot);
    }
    if datapath == OvsDatapath::Userspace {
        let containers = servers.iter().chain(&clients);
        wiring.without_tx_offload.extend(containers.map(|one| (one.space, UPLINK.to_owned())));
    }
    let ports = servers.iter().chain(&clients).filter_map(|one| one.devices.last());
    let ports: Vec<OvsPort> = ports.map(|(_, name)| OvsPort::device(name)).collect();
    openvswitch::add(&mut wiring, node, datapath, &[OvsBridgeSpec::for_containers(ports)]);
    openvswitch::add_bridge_counter(&mut wiring, node);
    let endpoint =
        |one: &OvsContainer| NamespaceEndpoint::at_slot(one.space, one.slot, shape.family);
    let ends: Vec<NamespaceEndpoint> = servers.iter().map(endpoint).collect();
    Ok(Layout {
        clients: clients.iter().map(endpoint).collect(),
        routes: direct_routes(shape, site, &ends),
        servers: ends,
        path: path(&wiring, node, &clients[0], &servers[0], datapath),
        proof: None,
        wiring,
    })
}

/// Adds a container's veth pair, and the devices between it and Open vSwitch.
pub(crate) fn plug_in(
    wiring: &mut Wiring,
    node: NamespaceId,
    container: NamespaceId,
    slot: InterfaceSlot,
    suffix: &str,
    between: OvsAttachment,
    rate: Option<BitsPerSecond>,
) -> OvsContainer {
    let veth = format!("veth-{suffix}");
    let mut near = DevicePairEnd::new(node, &veth);
    let mut devices = vec![(HopKind::Veth, veth)];
    if between == OvsAttachment::LinuxBridge {
        // Neutron's names.
        let [bridge, inner, outer] = ["qbr", "qvb", "qvo"].map(|kind| format!("{kind}-{suffix}"));
        wiring.add_bridge(node, &bridge, None);
        near = near.attached_to(&bridge);
        let inner_end = DevicePairEnd::new(node, &inner).attached_to(&bridge);
        wiring.device_pairs.push(DevicePair::new(inner_end, DevicePairEnd::new(node, &outer)));
        devices.extend([(HopKind::Bridge, bridge), (HopKind::Veth, inner), (HopKind::Veth, outer)]);
    }
    let far = DevicePairEnd::new(container, UPLINK).with_mac(slot.mac());
    wiring.device_pairs.push(DevicePair::new(near, far).limited_to(rate));
    wiring.add_address(container, UPLINK, slot);
    OvsContainer { space: container, slot, devices }
}

fn path(
    wiring: &Wiring,
    node: NamespaceId,
    client: &OvsContainer,
    server: &OvsContainer,
    datapath: OvsDatapath,
) -> Vec<Waypoint> {
    let mut path = client.to_switch(node);
    path.push(openvswitch::waypoint(wiring.name(node), datapath));
    path.extend(server.to_switch(node).into_iter().rev());
    path
}

impl OvsContainer {
    /// Returns the path from the container to Open vSwitch on its node.
    pub(crate) fn to_switch(&self, node: NamespaceId) -> Vec<Waypoint> {
        let devices = self.devices.iter();
        let on_node = devices.map(|(kind, name)| Waypoint::device(*kind, node, name));
        std::iter::once(Waypoint::device(HopKind::Veth, self.space, UPLINK))
            .chain(on_node)
            .collect()
    }
}
