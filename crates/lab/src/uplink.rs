//! Containers straight on their node's uplink, each by a device of its own that hangs on it.

use crate::address::{Slot, Subnet};
use crate::layout::{Endpoint, Layout, Proof, Waypoint, one_node, routes, server_of};
use crate::nodes::{BRIDGED_PAST_NETFILTER, Node, UPLINK, add_nodes};
use crate::wiring::{IpvlanMode, Link, LinkKind, MacvlanMode, Parent, SpaceId, Wiring};
use tare_network::{Error, HopKind, Shape, Site};

/// The most containers on one uplink: half of the underlay's addresses.
const MOST: u32 = 32_000;

/// By what a container hangs on the uplink.
#[derive(Clone, Copy)]
pub(crate) enum By {
    /// A device with a link-layer address of its own.
    Macvlan(MacvlanMode),
    /// A device with the uplink's.
    Ipvlan(IpvlanMode),
}

impl By {
    fn link(self, parent: Parent) -> LinkKind {
        match self {
            Self::Macvlan(mode) => LinkKind::Macvlan { parent, mode },
            Self::Ipvlan(mode) => LinkKind::Ipvlan { parent, mode },
        }
    }

    /// As ip(8) spells it.
    fn detail(self) -> String {
        match self {
            Self::Macvlan(MacvlanMode::Bridge) => format!("macvlan mode bridge on {UPLINK}"),
            Self::Ipvlan(IpvlanMode::L2) => format!("ipvlan mode l2 on {UPLINK}"),
            Self::Ipvlan(IpvlanMode::L3) => format!("ipvlan mode l3 on {UPLINK}"),
        }
    }
}

/// A container of the node's, on its uplink.
#[derive(Clone, Copy)]
pub(crate) struct Hung {
    /// Its namespace.
    pub(crate) space: SpaceId,
    /// Its interface.
    pub(crate) slot: Slot,
}

/// The interface of a container on the underlay: nodes have the lower half of its addresses.
pub(crate) fn slot(container: u32) -> Slot {
    const FIRST: u16 = 0x8001;
    // Below the limit that every layout keeps.
    let number = u16::try_from(container).unwrap_or_default();
    Subnet::UNDERLAY.slot(FIRST + number)
}

/// Refuses more containers than there are addresses.
pub(crate) fn room(name: &str, shape: &Shape) -> Result<(), Error> {
    if shape.servers.saturating_add(shape.clients) <= MOST {
        return Ok(());
    }
    let why = format!("there is room for {MOST} containers on an uplink");
    Err(Error::new(format!("lay out {name}"), why)
        .with_remedy("ask for fewer --servers and --clients"))
}

/// Hangs a container's device of this name on its node's uplink, with an address of the underlay.
pub(crate) fn hang(wiring: &mut Wiring, node: Node, by: By, one: Hung, device: &str) {
    let Hung { space, slot } = one;
    let mut link = Link::new(space, device, by.link(Parent::new(node.space, UPLINK)));
    // An ipvlan device has its parent's, whatever one asks for.
    link.mac = matches!(by, By::Macvlan(_)).then(|| slot.mac());
    wiring.links.push(link);
    wiring.address(space, device, slot);
}

/// Lets two containers on one uplink know each other.
pub(crate) fn introduce(wiring: &mut Wiring, node: Node, by: By, pair: [Hung; 2], device: &str) {
    for (one, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
        match by {
            By::Macvlan(_) => wiring.neighbour(one.space, device, other.slot),
            By::Ipvlan(IpvlanMode::L2) => {
                wiring.neighbour_at(one.space, device, other.slot, node.slot(0).mac());
            }
            // It routes: there is nobody to know.
            By::Ipvlan(IpvlanMode::L3) => {}
        }
    }
}

/// What a packet passes between two such containers. What one sends to the other never leaves by the uplink: its driver
/// hands the packet over (`macvlan_queue_xmit`, `ipvlan_rcv_frame`).
pub(crate) fn path(by: By, client: SpaceId, server: SpaceId, device: &str) -> Vec<Waypoint> {
    let hop = |space| Waypoint::told(HopKind::Device, space, device, &by.detail());
    vec![hop(client), hop(server)]
}

/// Servers and clients on the uplink of one node, and nothing else.
pub(crate) fn layout(name: &str, by: By, shape: &Shape, site: &Site) -> Result<Layout, Error> {
    one_node(name, shape)?;
    room(name, shape)?;
    let mut wiring = Wiring::new(shape.family, shape.mtu);
    let node = add_nodes(&mut wiring, 1, &BRIDGED_PAST_NETFILTER)[0];
    let mut add = |role: &str, index: u32, number: u32| {
        let space = wiring.space(format!("{role}-{index}"), &[]);
        let one = Hung { space, slot: slot(number) };
        hang(&mut wiring, node, by, one, UPLINK);
        one
    };
    let servers: Vec<Hung> = (0..shape.servers).map(|index| add("server", index, index)).collect();
    let clients: Vec<Hung> =
        (0..shape.clients).map(|index| add("client", index, shape.servers + index)).collect();
    for (index, client) in clients.iter().enumerate() {
        let server = servers[server_of(index, shape)];
        introduce(&mut wiring, node, by, [*client, server], UPLINK);
    }
    let address = |one: &Hung| one.slot.address(shape.family);
    let endpoint = |one: &Hung| Endpoint { space: Some(one.space), address: address(one) };
    Ok(Layout {
        servers: servers.iter().map(endpoint).collect(),
        clients: clients.iter().map(endpoint).collect(),
        routes: routes(shape, site, |_, server| {
            (address(&servers[server]), address(&servers[server]))
        }),
        path: path(by, clients[0].space, servers[0].space, UPLINK),
        proof: Some(Proof::Device { space: clients[0].space, name: UPLINK.to_owned() }),
        wiring,
    })
}
