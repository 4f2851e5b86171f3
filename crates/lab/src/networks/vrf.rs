//! `vrf`: containers on a node that routes between them by a table of its own for them.

use super::Recipe;
use crate::address::{Slot, Subnet, host_prefix};
use crate::layout::{Endpoint, Layout, Proof, Waypoint, one_node, routes, server_of};
use crate::nodes::{Node, UPLINK, add_nodes};
use crate::wiring::{
    Address, Cable, Destination, End, Route, SpaceId, Sysctl, Vrf as Device, Wiring,
};
use tare_network::{About, Error, Hop, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Vrf;

/// The VRF, and the number of its table.
const NAME: &str = "tenant";
const TABLE: u32 = 10;

/// A node that routes.
const ROUTER: [Sysctl; 3] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
];

impl Recipe for Vrf {
    fn about(&self) -> About {
        About {
            name: "vrf",
            summary: "two containers on a node that routes between them, in a VRF of their own",
            stands_for: "tenants kept apart by VRFs, as FRRouting and Cumulus Linux wire them",
            source: "Documentation/networking/vrf.rst",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        ["veth", "bridge", "vrf"].into_iter().map(|module| Need::Kernel { module }).collect()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        one_node("vrf", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &ROUTER)[0];
        wiring.vrfs.push(Device { space: node.space, name: NAME.to_owned(), table: TABLE });
        let mut number = 0;
        let mut add = |role: &str, index: u32| {
            number += 1;
            let space = wiring.space(format!("{role}-{index}"), &[]);
            let port = format!("veth-{}{index}", &role[..1]);
            let one = Tenant { space, slot: subnet().slot(GATEWAY + number), port };
            one.connect(&mut wiring, node, site);
            one
        };
        let servers: Vec<Tenant> = (0..shape.servers).map(|index| add("server", index)).collect();
        let clients: Vec<Tenant> = (0..shape.clients).map(|index| add("client", index)).collect();
        let address = |one: &Tenant| one.slot.address(shape.family);
        let endpoint = |one: &Tenant| Endpoint { space: Some(one.space), address: address(one) };
        let server = &servers[server_of(0, shape)];
        let (veth, place) = (HopKind::Veth, wiring.name(node.space).to_owned());
        let routed = Hop::new(HopKind::Route, format!("table {TABLE}"), place)
            .with_detail(format!("{} dev {}", address(server), server.port));
        Ok(Layout {
            path: vec![
                Waypoint::device(veth, clients[0].space, UPLINK),
                Waypoint::device(veth, node.space, &clients[0].port),
                Waypoint::told(HopKind::Device, node.space, NAME, &format!("vrf table {TABLE}")),
                Waypoint::Other(routed),
                Waypoint::device(veth, node.space, &server.port),
                Waypoint::device(veth, server.space, UPLINK),
            ],
            routes: routes(shape, site, |_, server| {
                (address(&servers[server]), address(&servers[server]))
            }),
            servers: servers.iter().map(endpoint).collect(),
            clients: clients.iter().map(endpoint).collect(),
            proof: Some(Proof::Device { space: node.space, name: NAME.to_owned() }),
            wiring,
        })
    }
}

/// The number of the address that every container takes for its gateway's; the node answers for it by its neighbours only.
const GATEWAY: u16 = 1;

fn subnet() -> Subnet {
    Subnet::docker(0)
}

/// A container whose only neighbour is its node.
struct Tenant {
    space: SpaceId,
    slot: Slot,
    /// The node's end of its cable.
    port: String,
}

impl Tenant {
    /// Joins it with its node by a cable, one address, and routes by that cable on both sides.
    fn connect(&self, wiring: &mut Wiring, node: Node, site: &Site) {
        let gateway = subnet().slot(GATEWAY);
        let near = End::new(node.space, &self.port).with_mac(gateway.mac()).plugged_into(NAME);
        let far = End::new(self.space, UPLINK).with_mac(self.slot.mac());
        wiring.cables.push(Cable::new(near, far).limited_to(site.options.rate));
        let whole = host_prefix(wiring.family);
        let (own, via) = (self.slot.address(wiring.family), gateway.address(wiring.family));
        let device = UPLINK.to_owned();
        wiring.addresses.push(Address { space: self.space, device, address: own, prefix: whole });
        wiring.routes.extend([
            Route::by_device(self.space, Destination::Net(via, whole), UPLINK),
            Route::default_via(self.space, via),
            Route {
                table: Some(TABLE),
                ..Route::by_device(node.space, Destination::Net(own, whole), &self.port)
            },
        ]);
        wiring.neighbour(self.space, UPLINK, gateway);
        wiring.neighbour(node.space, &self.port, self.slot);
    }
}
