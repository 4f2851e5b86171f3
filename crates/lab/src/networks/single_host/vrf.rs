//! `vrf`: containers on a node that routes between them by the table of their own VRF.

use crate::networks::LabNetworkDefinition;
use crate::plan::address::{InterfaceSlot, LabSubnet, host_prefix};
use crate::plan::layout::{
    Layout, NamespaceEndpoint, PathProof, Waypoint, check_one_node, client_routes, server_of,
};
use crate::plan::nodes::{LabNode, UPLINK, add_nodes};
use crate::plan::wiring::{
    DevicePair, DevicePairEnd, InterfaceAddress, IpRoute, NamespaceId, VrfDevice as Device, Wiring,
};
use tare_network::{
    Error, Hop, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::Sysctl;
use tare_sandbox::addressing::RouteDestination;

pub(crate) struct VrfNetwork;

/// Name of the VRF, and the number of its routing table.
const NAME: &str = "tenant";
const TABLE: u32 = 10;

/// Sysctls of a node that routes.
const ROUTER: [Sysctl; 3] = [
    Sysctl::required("net.ipv4.ip_forward", "1"),
    Sysctl::if_there("net.ipv6.conf.default.forwarding", "1"),
    Sysctl::if_there("net.ipv6.conf.all.forwarding", "1"),
];

impl LabNetworkDefinition for VrfNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "vrf",
            summary: "two containers on a node that routes between them, in a VRF of their own",
            stands_for: "tenants kept apart by VRFs, as FRRouting and Cumulus Linux wire them",
            source: "Documentation/networking/vrf.rst",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        ["veth", "bridge", "vrf"].into_iter().map(|module| Requirement::Kernel { module }).collect()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        check_one_node("vrf", shape)?;
        let mut wiring = Wiring::new(shape.family, shape.mtu);
        let node = add_nodes(&mut wiring, 1, &ROUTER)[0];
        wiring.vrfs.push(Device { space: node.space, name: NAME.to_owned(), table: TABLE });
        let mut number = 0;
        let mut add = |role: &str, index: u32| {
            number += 1;
            let space = wiring.add_namespace(format!("{role}-{index}"), &[]);
            let port = format!("veth-{}{index}", &role[..1]);
            let one = VrfContainer { space, slot: subnet().slot(GATEWAY + number), port };
            one.connect(&mut wiring, node, site);
            one
        };
        let servers: Vec<VrfContainer> =
            (0..shape.servers).map(|index| add("server", index)).collect();
        let clients: Vec<VrfContainer> =
            (0..shape.clients).map(|index| add("client", index)).collect();
        let address = |one: &VrfContainer| one.slot.address(shape.family);
        let endpoint = |one: &VrfContainer| NamespaceEndpoint {
            space: Some(one.space),
            address: address(one),
        };
        let server = &servers[server_of(0, shape)];
        let (veth, place) = (HopKind::Veth, wiring.name(node.space).to_owned());
        let routed = Hop::new(HopKind::Route, format!("table {TABLE}"), place)
            .with_detail(format!("{} dev {}", address(server), server.port));
        Ok(Layout {
            path: vec![
                Waypoint::device(veth, clients[0].space, UPLINK),
                Waypoint::device(veth, node.space, &clients[0].port),
                Waypoint::device_with_detail(
                    HopKind::Device,
                    node.space,
                    NAME,
                    &format!("vrf table {TABLE}"),
                ),
                Waypoint::Other(routed),
                Waypoint::device(veth, node.space, &server.port),
                Waypoint::device(veth, server.space, UPLINK),
            ],
            routes: client_routes(shape, site, |_, server| {
                (address(&servers[server]), address(&servers[server]))
            }),
            servers: servers.iter().map(endpoint).collect(),
            clients: clients.iter().map(endpoint).collect(),
            proof: Some(PathProof::Device { space: node.space, name: NAME.to_owned() }),
            wiring,
        })
    }
}

/// Number of the gateway's address in the subnet. No device has the address; the containers have a permanent neighbour
/// entry for it.
const GATEWAY: u16 = 1;

fn subnet() -> LabSubnet {
    LabSubnet::docker(0)
}

/// Container whose only neighbour is its node.
struct VrfContainer {
    space: NamespaceId,
    slot: InterfaceSlot,
    /// Name of the node's end of its veth pair.
    port: String,
}

impl VrfContainer {
    /// Joins the container with its node by a veth pair, and adds its address and the routes on both sides.
    fn connect(&self, wiring: &mut Wiring, node: LabNode, site: &NetworkParameters) {
        let gateway = subnet().slot(GATEWAY);
        let near =
            DevicePairEnd::new(node.space, &self.port).with_mac(gateway.mac()).attached_to(NAME);
        let far = DevicePairEnd::new(self.space, UPLINK).with_mac(self.slot.mac());
        wiring.device_pairs.push(DevicePair::new(near, far).limited_to(site.options.rate));
        let whole = host_prefix(wiring.family);
        let (own, via) = (self.slot.address(wiring.family), gateway.address(wiring.family));
        let device = UPLINK.to_owned();
        wiring.addresses.push(InterfaceAddress {
            space: self.space,
            device,
            address: own,
            prefix: whole,
        });
        wiring.routes.extend([
            IpRoute::by_device(self.space, RouteDestination::Net(via, whole), UPLINK),
            IpRoute::default_via(self.space, via),
            IpRoute {
                table: Some(TABLE),
                ..IpRoute::by_device(node.space, RouteDestination::Net(own, whole), &self.port)
            },
        ]);
        wiring.add_neighbour(self.space, UPLINK, gateway);
        wiring.add_neighbour(node.space, &self.port, self.slot);
    }
}
