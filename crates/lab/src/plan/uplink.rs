//! Containers directly on their node's uplink, each with a child device of the uplink.

use crate::plan::address::{InterfaceSlot, LabSubnet};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, PathProof, Waypoint, check_one_node, client_routes, server_of,
};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, LabNode, UPLINK, add_nodes};
use crate::plan::wiring::{ChildDevice, NamespaceId, ParentDevice, Wiring};
use tare_network::{Error, HopKind, NetworkParameters, Shape};
use tare_sandbox::devices::{ChildDeviceKind, Ipvlan, IpvlanMode, Macvlan};

/// Largest number of containers on one uplink: half of the underlay's addresses.
const MOST: u32 = 32_000;

/// Kind of child device by which a container uses the uplink.
#[derive(Clone, Copy)]
pub(crate) enum UplinkMode {
    /// macvlan device, with a link-layer address of its own.
    Macvlan,
    /// ipvlan device, with the link-layer address of the uplink.
    Ipvlan(IpvlanMode),
}

impl UplinkMode {
    /// Returns a child device of this kind.
    fn child_device(self, space: NamespaceId, name: &str, parent: ParentDevice) -> ChildDevice {
        match self {
            Self::Macvlan => ChildDevice::new(space, name, parent, Macvlan),
            Self::Ipvlan(mode) => ChildDevice::new(space, name, parent, Ipvlan(mode)),
        }
    }

    /// Returns the kind and mode, as ip(8) spells them.
    fn detail(self) -> String {
        let kind = match self {
            Self::Macvlan => Macvlan.words(UPLINK),
            Self::Ipvlan(mode) => Ipvlan(mode).words(UPLINK),
        };
        format!("{kind} on {UPLINK}")
    }
}

/// Container on its node's uplink.
#[derive(Clone, Copy)]
pub(crate) struct UplinkChild {
    /// Namespace of the container.
    pub(crate) space: NamespaceId,
    /// Slot of its interface.
    pub(crate) slot: InterfaceSlot,
}

/// Returns the slot of a container's interface on the underlay. Nodes have the lower half of its addresses.
pub(crate) fn slot(container: u32) -> InterfaceSlot {
    const FIRST: u16 = 0x8001;
    // Every layout keeps the number below the limit.
    let number = u16::try_from(container).unwrap_or_default();
    LabSubnet::UNDERLAY.slot(FIRST + number)
}

/// Refuses more containers than there are addresses.
pub(crate) fn check_capacity(name: &str, shape: &Shape) -> Result<(), Error> {
    if shape.servers.saturating_add(shape.clients) <= MOST {
        return Ok(());
    }
    let why = format!("at most {MOST} containers are supported on an uplink");
    Err(Error::new(format!("lay out {name}"), why).with_remedy("use fewer --servers or --clients"))
}

/// Adds a child device of this name for a container to its node's uplink, with an address of the underlay.
pub(crate) fn add_child(
    wiring: &mut Wiring,
    node: LabNode,
    by: UplinkMode,
    one: UplinkChild,
    device: &str,
) {
    let UplinkChild { space, slot } = one;
    let mut link = by.child_device(space, device, ParentDevice::new(node.space, UPLINK));
    // An ipvlan device always has the address of its parent.
    link.mac = matches!(by, UplinkMode::Macvlan).then(|| slot.mac());
    wiring.child_devices.push(link);
    wiring.add_address(space, device, slot);
}

/// Adds neighbour entries for each other to two containers on one uplink.
pub(crate) fn add_neighbours(
    wiring: &mut Wiring,
    node: LabNode,
    by: UplinkMode,
    pair: [UplinkChild; 2],
    device: &str,
) {
    for (one, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
        match by {
            UplinkMode::Macvlan => wiring.add_neighbour(one.space, device, other.slot),
            UplinkMode::Ipvlan(IpvlanMode::L2) => {
                wiring.add_neighbour_at(one.space, device, other.slot, node.slot(0).mac());
            }
            // An L3 device routes, so it needs no neighbour entries.
            UplinkMode::Ipvlan(IpvlanMode::L3) => {}
        }
    }
}

/// Returns the path of a packet between two such containers. A packet between them never leaves by the uplink: the
/// driver hands it over (`macvlan_queue_xmit`, `ipvlan_rcv_frame`).
pub(crate) fn path(
    by: UplinkMode,
    client: NamespaceId,
    server: NamespaceId,
    device: &str,
) -> Vec<Waypoint> {
    let hop = |space| Waypoint::device_with_detail(HopKind::Device, space, device, &by.detail());
    vec![hop(client), hop(server)]
}

/// Returns the layout of servers and clients on the uplink of one node.
pub(crate) fn layout(
    name: &str,
    by: UplinkMode,
    shape: &Shape,
    site: &NetworkParameters,
) -> Result<Layout, Error> {
    check_one_node(name, shape)?;
    check_capacity(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
    let mut add = |role: &str, index: u32, number: u32| {
        let space = wiring.add_namespace(format!("{role}-{index}"), &[]);
        let one = UplinkChild { space, slot: slot(number) };
        add_child(&mut wiring, node, by, one, UPLINK);
        one
    };
    let servers: Vec<UplinkChild> =
        (0..shape.servers).map(|index| add("server", index, index)).collect();
    let clients: Vec<UplinkChild> =
        (0..shape.clients).map(|index| add("client", index, shape.servers + index)).collect();
    for (index, client) in clients.iter().enumerate() {
        let server = servers[server_of(index, shape)];
        add_neighbours(&mut wiring, node, by, [*client, server], UPLINK);
    }
    let address = |one: &UplinkChild| one.slot.address(shape.family);
    let endpoint =
        |one: &UplinkChild| NamespaceEndpoint { space: Some(one.space), address: address(one) };
    Ok(Layout {
        servers: servers.iter().map(endpoint).collect(),
        clients: clients.iter().map(endpoint).collect(),
        routes: client_routes(shape, site, |_, server| {
            (address(&servers[server]), address(&servers[server]))
        }),
        path: path(by, clients[0].space, servers[0].space, UPLINK),
        proof: Some(PathProof::Device { space: clients[0].space, name: UPLINK.to_owned() }),
        wiring,
    })
}
