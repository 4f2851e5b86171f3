//! `vlan`: containers on a bridge, each by a VLAN device, so that what they send one another carries a tag.

use super::Recipe;
use super::bridge_plain::{Bridged, bridged};
use super::hung;
use crate::layout::{Layout, Proof, Waypoint};
use crate::nodes::{BRIDGED_PAST_NETFILTER, UPLINK};
use crate::wiring::{Link, LinkKind, Parent};
use tare_network::{About, Error, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct Vlan;

/// The VLAN that all containers are in, and the device by which they are.
const ID: u16 = 7;
const DEVICE: &str = "vlan7";

impl Recipe for Vlan {
    fn about(&self) -> About {
        About {
            name: "vlan",
            summary: "two containers on a bridge, in a VLAN: what passes it carries an 802.1Q tag",
            stands_for: "containers on a tagged VLAN of a trunk port, as operators wire them",
            source: "IEEE 802.1Q; ip-link(8), type vlan",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        hung("8021q")
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        let Bridged { mut layout, node, servers, clients, .. } =
            bridged("vlan", shape, site, &BRIDGED_PAST_NETFILTER)?;
        let wiring = &mut layout.wiring;
        for one in servers.iter().chain(&clients) {
            let kind = LinkKind::Vlan { parent: Parent::new(one.space, UPLINK), id: ID };
            wiring.links.push(Link::new(one.space, DEVICE, kind).with_mac(one.slot.mac()));
        }
        // The containers' addresses, routes and neighbours are the VLAN's; the bridge's own address is of no use in it.
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
            Waypoint::told(HopKind::Device, space, DEVICE, &detail)
        };
        layout.path.insert(0, tagged(clients[0].space));
        layout.path.push(tagged(servers[0].space));
        layout.proof = Some(Proof::Device { space: node.space, name: "veth-s0".to_owned() });
        Ok(layout)
    }
}
