//! What is to be wired, as data: namespaces, bridges, cables, links, addresses, routes, settings, rules, programs.
//!
//! A network describes itself once, as a [`Wiring`]. From that one description the lab builds it ([`crate::build`]) and
//! prints the commands by which a reader could ([`crate::shell`]), so that the two cannot drift apart. Both go through
//! it in the order of its fields.

mod device;
mod indices;
mod link;
mod route;
mod setting;
mod station;
mod tunnel;

pub(crate) use device::{Bridge, Cable, CableKind, End, Vrf};
pub(crate) use indices::Indices;
pub(crate) use link::{IpvlanMode, Link, LinkKind, MacvlanMode, Parent};
pub(crate) use route::{Destination, Route, RouteKind};
pub(crate) use setting::{Presence, Setting, Sysctl};
pub(crate) use station::Station;
pub(crate) use tunnel::{Forwarding, Impairment, Proxy, Wrap};

use crate::address::{Mac, Slot, prefix_length};
use crate::nodes::NODE;
use crate::programs::{Counter, Program};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::Family;

/// A namespace of a wiring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SpaceId(pub(crate) usize);

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// Its name.
    pub(crate) name: String,
    /// Its settings, made before it has any device but `lo`.
    pub(crate) sysctls: Vec<Sysctl>,
    /// Variables that programs in it find in their environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Names that programs in it can resolve, where they have a hosts file of their own.
    pub(crate) names: Vec<(String, IpAddr)>,
}

/// An address of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Where.
    pub(crate) space: SpaceId,
    /// On which device.
    pub(crate) device: String,
    /// The address.
    pub(crate) address: IpAddr,
    /// The length of its network's prefix, bits.
    pub(crate) prefix: u8,
}

/// A permanent neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Neighbour {
    /// Who knows it.
    pub(crate) space: SpaceId,
    /// On which device.
    pub(crate) device: String,
    /// The neighbour's address.
    pub(crate) address: IpAddr,
    /// The neighbour's link-layer address.
    pub(crate) mac: Mac,
}

/// Netfilter rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Where.
    pub(crate) space: SpaceId,
    /// As nft(8) reads them.
    pub(crate) text: String,
}

/// All that is to be wired.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wiring {
    /// The IP family of every address.
    pub(crate) family: Family,
    /// The MTU of every device but `lo` that has no other, bytes.
    pub(crate) mtu: u32,
    /// Namespaces.
    pub(crate) spaces: Vec<Space>,
    /// Bridges.
    pub(crate) bridges: Vec<Bridge>,
    /// VRFs.
    pub(crate) vrfs: Vec<Vrf>,
    /// Cables.
    pub(crate) cables: Vec<Cable>,
    /// Links, each after the one that it hangs on.
    pub(crate) links: Vec<Link>,
    /// Devices that are worse than they could be.
    pub(crate) impairments: Vec<Impairment>,
    /// Settings of devices.
    pub(crate) settings: Vec<Setting>,
    /// Addresses.
    pub(crate) addresses: Vec<Address>,
    /// Routes, each after those by which its gateway is reached.
    pub(crate) routes: Vec<Route>,
    /// Neighbours.
    pub(crate) neighbours: Vec<Neighbour>,
    /// Forwarding entries of VXLAN devices.
    pub(crate) forwarding: Vec<Forwarding>,
    /// What bridges know for good.
    pub(crate) stations: Vec<Station>,
    /// The neighbours, to be found quickly among many.
    known: HashSet<Neighbour>,
    /// Rules, the last of what the kernel is told: nothing passes them while they are loaded.
    pub(crate) rules: Vec<Rules>,
    /// Devices that send whole packets: with their checksums, and no larger than the MTU. A program that takes packets off
    /// the other end does not do what the kernel would.
    pub(crate) whole: Vec<(SpaceId, String)>,
    /// Programs, started once all the rest is there.
    pub(crate) programs: Vec<Program>,
    /// Programs that can tell how many packets have passed them.
    pub(crate) counters: Vec<Counter>,
}

/// The address of a machine that has no other.
fn loopback(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    }
}

/// In a namespace that speaks IPv4, devices have no IPv6, as Docker has it: their own link-local chatter (RFC 4862, RFC
/// 3810) would go to every port of a bridge.
const IPV4: [Sysctl; 1] = [Sysctl::if_there("net.ipv6.conf.default.disable_ipv6", "1")];

/// Every namespace that speaks IPv6 has it on, and waits for no duplicate address detection.
const IPV6: [Sysctl; 2] = [
    Sysctl::required("net.ipv6.conf.all.disable_ipv6", "0"),
    Sysctl::required("net.ipv6.conf.default.accept_dad", "0"),
];

impl Wiring {
    /// Nothing yet.
    pub(crate) fn new(family: Family, mtu: u32) -> Self {
        Self {
            family,
            mtu,
            spaces: Vec::new(),
            bridges: Vec::new(),
            vrfs: Vec::new(),
            cables: Vec::new(),
            links: Vec::new(),
            impairments: Vec::new(),
            settings: Vec::new(),
            addresses: Vec::new(),
            routes: Vec::new(),
            neighbours: Vec::new(),
            forwarding: Vec::new(),
            stations: Vec::new(),
            known: HashSet::new(),
            rules: Vec::new(),
            whole: Vec::new(),
            programs: Vec::new(),
            counters: Vec::new(),
        }
    }

    /// Adds a namespace.
    pub(crate) fn space(&mut self, name: impl Into<String>, sysctls: &[Sysctl]) -> SpaceId {
        let family: &[Sysctl] = match self.family {
            Family::Ipv4 => &IPV4,
            Family::Ipv6 => &IPV6,
        };
        let sysctls = [family, sysctls].concat();
        let (environment, names) = (Vec::new(), Vec::new());
        self.spaces.push(Space { name: name.into(), sysctls, environment, names });
        SpaceId(self.spaces.len() - 1)
    }

    /// The name of a namespace.
    pub(crate) fn name(&self, space: SpaceId) -> &str {
        &self.spaces[space.0].name
    }

    /// The nodes, each with its first address: what others know it by.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (SpaceId, IpAddr)> {
        let spaces = (0..self.spaces.len()).map(SpaceId);
        spaces.filter(|&space| self.name(space).starts_with(NODE)).map(|node| {
            let first = self.addresses.iter().find(|address| address.space == node);
            (node, first.map_or(loopback(self.family), |first| first.address))
        })
    }

    /// Every device but `lo`, with its namespace, in the order in which they are made.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (SpaceId, &str)> {
        let bridges = self.bridges.iter().map(|one| (one.space, one.name.as_str()));
        let vrfs = self.vrfs.iter().map(|one| (one.space, one.name.as_str()));
        let ends = self.cables.iter().flat_map(Cable::ends);
        let ends = ends.map(|one| (one.space, one.device.as_str()));
        let links = self.links.iter().map(|one| (one.space, one.name.as_str()));
        bridges.chain(vrfs).chain(ends).chain(links)
    }

    /// Adds a bridge; it has a link-layer address of ours where it has an IP address.
    pub(crate) fn bridge(&mut self, space: SpaceId, name: &str, mac: Option<Mac>) {
        self.bridges.push(Bridge { space, name: name.to_owned(), mac, mtu: None });
    }

    /// The bridges whose MTU is larger than that of one of their ports, and how large: the kernel lowers it as ports come.
    pub(crate) fn wide_bridges(&self) -> impl Iterator<Item = (&Bridge, u32)> {
        let narrow = |bridge: &Bridge, mtu: u32| {
            let plugged = |end: &&End| {
                end.space == bridge.space && end.controller.as_ref() == Some(&bridge.name)
            };
            let narrower = |cable: &Cable| {
                cable.mtu.unwrap_or(self.mtu) < mtu && cable.ends().iter().any(plugged)
            };
            self.cables.iter().any(narrower)
        };
        self.bridges
            .iter()
            .filter_map(|bridge| Some((bridge, bridge.mtu?)))
            .filter(move |(bridge, mtu)| narrow(bridge, *mtu))
    }

    /// Adds the slot's address to a device.
    pub(crate) fn address(&mut self, space: SpaceId, device: &str, slot: Slot) {
        self.addresses.push(Address {
            space,
            device: device.to_owned(),
            address: slot.address(self.family),
            prefix: prefix_length(self.family),
        });
    }

    /// Lets a namespace know the slot's link-layer address for good.
    pub(crate) fn neighbour(&mut self, space: SpaceId, device: &str, slot: Slot) {
        self.neighbour_at(space, device, slot, slot.mac());
    }

    /// Lets a namespace know for good that the slot is at a link-layer address which is not its own.
    pub(crate) fn neighbour_at(&mut self, space: SpaceId, device: &str, slot: Slot, mac: Mac) {
        let neighbour =
            Neighbour { space, device: device.to_owned(), address: slot.address(self.family), mac };
        if self.known.insert(neighbour.clone()) {
            self.neighbours.push(neighbour);
        }
    }
}
