//! `macvlan-nat`: every container has an external address, on a macvlan device of the node, and rules that translate it.
//!
//! The 2014 study of inter-container communication called this "iptables". Client and server are containers on Docker's
//! bridge; the client dials the server's external address.

use super::Recipe;
use super::bridge::{AFTER_THE_BRIDGE, DOCKER_HOST, docker_needs, forwarded, tracked};
use super::bridge_plain::{Bridged, bridged};
use crate::address::{Slot, host_prefix};
use crate::docker::{BRIDGE, host_rules};
use crate::layout::{Layout, Proof, Waypoint, routes};
use crate::nodes::UPLINK;
use crate::uplink::{room, slot};
use crate::wiring::{
    Address, Link, LinkKind, MacvlanMode, Parent, Rules, Setting, SpaceId, Wiring,
};
use std::fmt::Write;
use std::net::IpAddr;
use tare_network::{About, Error, Family, Hop, HopKind, Need, NetworkOption, Shape, Site};

pub(super) struct MacvlanNat;

impl Recipe for MacvlanNat {
    fn about(&self) -> About {
        About {
            name: "macvlan-nat",
            summary: "an external address for each container, on a macvlan device of the node, translated",
            stands_for: "the 2014 recipe `iptables`: containers with external addresses, by DNAT and SNAT rules",
            source: "Docker network performance (2014): iptables",
            options: &NetworkOption::CABLED,
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        let mut needs = docker_needs();
        needs.push(Need::Kernel { module: "macvlan" });
        needs
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        room("macvlan-nat", shape)?;
        let Bridged { mut layout, node, gateway, servers, clients, subnet } =
            bridged("macvlan-nat", shape, site, &DOCKER_HOST)?;
        let containers: Vec<Slot> = servers.iter().chain(&clients).map(|one| one.slot).collect();
        let external: Vec<External> =
            (0..).zip(&containers).map(|(index, &own)| External::new(index, own)).collect();
        for one in &external {
            one.add(&mut layout.wiring, node.space);
            layout.wiring.neighbour(node.space, BRIDGE, one.own);
        }
        for one in servers.iter().chain(&clients) {
            layout.wiring.neighbour(one.space, UPLINK, gateway);
        }
        let mut text = host_rules(shape.family, subnet, &[]);
        for one in &external {
            text.push_str(&one.rules(shape.family));
        }
        layout.wiring.rules.push(Rules { space: node.space, text });
        layout.routes = routes(shape, site, |_, server| {
            let one = &external[server];
            (one.own.address(shape.family), one.address(shape.family))
        });
        let place = layout.wiring.name(node.space);
        let translation = Hop::new(HopKind::Nat, "nat/PREROUTING", place)
            .with_detail(external[0].inwards(shape.family));
        // br_netfilter translates before the bridge chooses a port, and filters after.
        let (before, after) = ([tracked(place), translation], forwarded(place));
        layout.path.insert(AFTER_THE_BRIDGE, Waypoint::Other(after));
        let at = AFTER_THE_BRIDGE - 1;
        layout.path.splice(at..at, before.map(Waypoint::Other));
        layout.proof = Some(Proof::Rule { space: node.space, rule: "dnat to" });
        Ok(layout)
    }
}

/// A container's external address.
struct External {
    /// The macvlan device of the node that has it.
    device: String,
    /// The address's place in the plan.
    slot: Slot,
    /// The container's own.
    own: Slot,
}

impl External {
    fn new(index: u32, own: Slot) -> Self {
        Self { device: format!("mvpub{index}"), slot: slot(index), own }
    }

    fn address(&self, family: Family) -> IpAddr {
        self.slot.address(family)
    }

    /// The device, which answers for its own address only, and the address, alone.
    fn add(&self, wiring: &mut Wiring, node: SpaceId) {
        let parent = Parent::new(node, UPLINK);
        let kind = LinkKind::Macvlan { parent, mode: MacvlanMode::Bridge };
        wiring.links.push(Link::new(node, &self.device, kind).with_mac(self.slot.mac()));
        let prefix = host_prefix(wiring.family);
        if wiring.family == Family::Ipv4 {
            for (key, value) in [("arp_ignore", "1"), ("arp_announce", "2")] {
                let key = format!("net.ipv4.conf.{}.{key}", self.device);
                wiring.settings.push(Setting::required(node, key, value));
            }
        }
        let (device, address) = (self.device.clone(), self.address(wiring.family));
        wiring.addresses.push(Address { space: node, device, address, prefix });
    }

    /// What happens to a packet for the external address.
    fn inwards(&self, family: Family) -> String {
        let (ip, external, own) = (word(family), self.address(family), self.own.address(family));
        format!("{ip} daddr {external} counter dnat to {own}")
    }

    /// What happens to a packet of the container's that leaves the node.
    fn outwards(&self, family: Family) -> String {
        let (ip, external, own) = (word(family), self.address(family), self.own.address(family));
        format!("{ip} saddr {own} oifname \"{UPLINK}\" counter snat to {external}")
    }

    /// Both rules, beside Docker's: the one for what leaves before Docker's own translation.
    fn rules(&self, family: Family) -> String {
        let table = word(family);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "add rule {table} nat PREROUTING {}", self.inwards(family));
        let _ = writeln!(text, "insert rule {table} nat POSTROUTING {}", self.outwards(family));
        text
    }
}

/// A family in nft's language.
fn word(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    }
}
