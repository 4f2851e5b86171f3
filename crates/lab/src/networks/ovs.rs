//! `ovs`: containers on an Open vSwitch bridge, one port each, forwarded by the kernel. `ovs-user` and `ovs-bridge` are laid
//! out alike.

use super::{Recipe, wired};
use crate::address::{Slot, Subnet};
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes, server_of};
use crate::nodes::{BRIDGED_PAST_NETFILTER, UPLINK, add_nodes};
use crate::openvswitch::{self, Bridge, Datapath, Port};
use crate::wiring::{Cable, End, SpaceId, Wiring};
use tare_network::{About, BitsPerSecond, Error, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Ovs;

pub(super) const SOURCE: &str = "https://docs.openvswitch.org/en/latest/intro/install/general/";

impl Recipe for Ovs {
    fn about(&self) -> About {
        About {
            name: "ovs",
            summary: "two containers on an Open vSwitch bridge, forwarded by the kernel",
            stands_for: "Open vSwitch itself, private to the lab",
            source: SOURCE,
            options: &[NetworkOption::Rate],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        needs(Datapath::Kernel)
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        layout("ovs", shape, site, Datapath::Kernel, Between::Nothing)
    }
}

/// What Open vSwitch and its ports need.
pub(super) fn needs(datapath: Datapath) -> Vec<Need> {
    wired().into_iter().chain(datapath.needs()).collect()
}

/// What is between a container's cable and Open vSwitch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    Nothing,
    LinuxBridge,
}

/// A container, and the devices on its way to Open vSwitch.
pub(super) struct Plugged {
    pub(super) space: SpaceId,
    pub(super) slot: Slot,
    /// On the node, in order; the first is the other end of the container's cable, the last is Open vSwitch's port.
    pub(super) devices: Vec<(HopKind, String)>,
}

/// A node with Open vSwitch, and containers on it.
pub(super) fn layout(
    name: &str,
    shape: &Shape,
    site: &Site,
    datapath: Datapath,
    between: Between,
) -> Result<Layout, Error> {
    one_node(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0].space;
    let mut slots = (2..).map(|number| Subnet::docker(0).slot(number));
    let mut plug = |role: &str, count: u32| -> Vec<Plugged> {
        let numbered = (0..count).zip(&mut slots);
        numbered
            .map(|(index, slot)| {
                let container = wiring.space(format!("{role}-{index}"), &[]);
                let suffix = format!("{}{index}", &role[..1]);
                plug_in(&mut wiring, node, container, slot, &suffix, between, site.options.rate)
            })
            .collect()
    };
    let servers = plug("server", shape.servers);
    let clients = plug("client", shape.clients);
    for (index, client) in clients.iter().enumerate() {
        let server = &servers[server_of(index, shape)];
        wiring.neighbour(client.space, UPLINK, server.slot);
        wiring.neighbour(server.space, UPLINK, client.slot);
    }
    if datapath == Datapath::Userspace {
        let containers = servers.iter().chain(&clients);
        wiring.whole.extend(containers.map(|one| (one.space, UPLINK.to_owned())));
    }
    let ports = servers.iter().chain(&clients).filter_map(|one| one.devices.last());
    let ports: Vec<Port> = ports.map(|(_, name)| Port::device(name)).collect();
    openvswitch::add(&mut wiring, node, datapath, &[Bridge::of_containers(ports)]);
    openvswitch::count(&mut wiring, node);
    let endpoint = |one: &Plugged| Endpoint {
        space: Some(one.space),
        address: one.slot.address(shape.family),
    };
    Ok(Layout {
        servers: servers.iter().map(endpoint).collect(),
        clients: clients.iter().map(endpoint).collect(),
        routes: routes(shape, site, |_, server| {
            let address = servers[server].slot.address(shape.family);
            (address, address)
        }),
        path: path(&wiring, node, &clients[0], &servers[0], datapath),
        proof: None,
        wiring,
    })
}

/// Adds a container's cable, and what is between it and Open vSwitch.
pub(super) fn plug_in(
    wiring: &mut Wiring,
    node: SpaceId,
    container: SpaceId,
    slot: Slot,
    suffix: &str,
    between: Between,
    rate: Option<BitsPerSecond>,
) -> Plugged {
    let veth = format!("veth-{suffix}");
    let mut near = End::new(node, &veth);
    let mut devices = vec![(HopKind::Veth, veth)];
    if between == Between::LinuxBridge {
        // Names as Neutron gives them.
        let [bridge, inner, outer] = ["qbr", "qvb", "qvo"].map(|kind| format!("{kind}-{suffix}"));
        wiring.bridge(node, &bridge, None);
        near = near.plugged_into(&bridge);
        let inner_end = End::new(node, &inner).plugged_into(&bridge);
        wiring.cables.push(Cable::new(inner_end, End::new(node, &outer)));
        devices.extend([(HopKind::Bridge, bridge), (HopKind::Veth, inner), (HopKind::Veth, outer)]);
    }
    let far = End::new(container, UPLINK).with_mac(slot.mac());
    wiring.cables.push(Cable::new(near, far).limited_to(rate));
    wiring.address(container, UPLINK, slot);
    Plugged { space: container, slot, devices }
}

fn path(
    wiring: &Wiring,
    node: SpaceId,
    client: &Plugged,
    server: &Plugged,
    datapath: Datapath,
) -> Vec<Waypoint> {
    let mut path = client.to_switch(node);
    path.push(openvswitch::waypoint(wiring.name(node), datapath));
    path.extend(server.to_switch(node).into_iter().rev());
    path
}

impl Plugged {
    /// From the container to Open vSwitch on its node.
    pub(super) fn to_switch(&self, node: SpaceId) -> Vec<Waypoint> {
        let devices = self.devices.iter();
        let on_node = devices.map(|(kind, name)| Waypoint::device(*kind, node, name));
        std::iter::once(Waypoint::device(HopKind::Veth, self.space, UPLINK))
            .chain(on_node)
            .collect()
    }
}
