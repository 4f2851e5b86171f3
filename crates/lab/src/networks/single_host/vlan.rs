//! `vlan`: containers on a bridge, each by a VLAN device, so that frames between them are tagged.

use crate::networks::single_host::bridge_plain::{BridgeLayout, layout_on_bridge};
use crate::networks::{LabNetworkDefinition, uplink_requirements};
use crate::plan::layout::{Layout, PathProof, Waypoint};
use crate::plan::nodes::{BRIDGED_PAST_NETFILTER, UPLINK};
use crate::plan::wiring::{ChildDevice, ParentDevice};
use tare_network::{
    Error, HopKind, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape,
};
use tare_sandbox::devices::Vlan;

pub(crate) struct VlanNetwork;

/// VLAN of all containers, and the name of their VLAN devices.
const ID: u16 = 7;
const DEVICE: &str = "vlan7";

impl LabNetworkDefinition for VlanNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "vlan",
            summary: "two containers on a bridge, in a VLAN: what passes it carries an 802.1Q tag",
            stands_for: "containers on a tagged VLAN of a trunk port, as operators wire them",
            source: "IEEE 802.1Q; ip-link(8), type vlan",
            options: &NetworkOption::DEVICE_PAIRS,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        uplink_requirements("8021q")
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let BridgeLayout { mut layout, node, servers, clients, .. } =
            layout_on_bridge("vlan", shape, site, &BRIDGED_PAST_NETFILTER)?;
        let wiring = &mut layout.wiring;
        for one in servers.iter().chain(&clients) {
            let parent = ParentDevice::new(one.space, UPLINK);
            let device = ChildDevice::new(one.space, DEVICE, parent, Vlan { id: ID });
            wiring.child_devices.push(device.with_mac(one.slot.mac()));
        }
        // Addresses, routes and neighbour entries of the containers move to the VLAN. The bridge's own address is not
        // reachable in it.
        let within = |space| servers.iter().chain(&clients).any(|one| one.space == space);
        wiring.routes.retain(|route| !within(route.space));
        for address in wiring.addresses.iter_mut().filter(|one| within(one.space)) {
            address.device = DEVICE.to_owned();
        }
        for neighbour in wiring.neighbours.iter_mut().filter(|one| within(one.space)) {
            neighbour.device = DEVICE.to_owned();
        }
        let tagged = |space| {
            let detail = format!("802.1Q, id {ID}, on {UPLINK}");
            Waypoint::device_with_detail(HopKind::Device, space, DEVICE, &detail)
        };
        layout.path.insert(0, tagged(clients[0].space));
        layout.path.push(tagged(servers[0].space));
        layout.proof = Some(PathProof::Device { space: node.space, name: "veth-s0".to_owned() });
        Ok(layout)
    }
}
