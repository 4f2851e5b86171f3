//! What is to be wired, as data: namespaces, bridges, cables, addresses, rules.
//!
//! A network describes itself once, as a [`Wiring`]. From that one description the lab builds it ([`crate::build`]) and
//! prints the commands by which a reader could ([`crate::shell`]), so that the two cannot drift apart. Both go through
//! it in the order of its fields.

use crate::address::{Mac, Slot, prefix_length};
use crate::bucket::TokenBucket;
use std::net::IpAddr;
use tare_network::{BitsPerSecond, Family};

/// A namespace of a wiring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpaceId(pub(crate) usize);

/// Whether a setting must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Without it the network is not what it says it is.
    Required,
    /// Where the kernel has no such setting, it has no such behaviour either.
    IfThere,
}

/// A setting of a network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sysctl {
    /// As sysctl(8) spells it.
    pub(crate) key: &'static str,
    /// Its value.
    pub(crate) value: &'static str,
    /// Whether it must be there.
    pub(crate) presence: Presence,
}

impl Sysctl {
    /// A setting that must be there.
    pub(crate) const fn required(key: &'static str, value: &'static str) -> Self {
        Self { key, value, presence: Presence::Required }
    }

    /// A setting that matters only where it is there.
    pub(crate) const fn if_there(key: &'static str, value: &'static str) -> Self {
        Self { key, value, presence: Presence::IfThere }
    }
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// Its name.
    pub(crate) name: String,
    /// Its settings, made before it has any device but `lo`.
    pub(crate) sysctls: Vec<Sysctl>,
}

/// A Linux bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// Where.
    pub(crate) space: SpaceId,
    /// Its name.
    pub(crate) name: &'static str,
    /// Its own link-layer address, where it has an IP address.
    pub(crate) mac: Option<Mac>,
}

/// One end of a cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Where.
    pub(crate) space: SpaceId,
    /// The device's name.
    pub(crate) device: String,
    /// Its link-layer address, where anybody must know it.
    pub(crate) mac: Option<Mac>,
}

/// A veth pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cable {
    /// The end that may be plugged into a bridge.
    pub(crate) near: End,
    /// The bridge that it is plugged into, in the same namespace.
    pub(crate) bridge: Option<&'static str>,
    /// The other end.
    pub(crate) far: End,
    /// To what it is limited, in each direction; nothing for as fast as it goes.
    pub(crate) rate: Option<BitsPerSecond>,
}

impl Cable {
    /// The queue in front of each end, where the cable is limited.
    pub(crate) fn bucket(&self, mtu: u32) -> Option<TokenBucket> {
        self.rate.map(|rate| TokenBucket::new(rate, mtu))
    }
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

/// A default route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefaultRoute {
    /// Where.
    pub(crate) space: SpaceId,
    /// Through whom.
    pub(crate) gateway: IpAddr,
}

/// A permanent neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// The IP family of every address.
    pub(crate) family: Family,
    /// The MTU of every device but `lo`, bytes.
    pub(crate) mtu: u32,
    /// Namespaces.
    pub(crate) spaces: Vec<Space>,
    /// Bridges.
    pub(crate) bridges: Vec<Bridge>,
    /// Cables.
    pub(crate) cables: Vec<Cable>,
    /// Addresses.
    pub(crate) addresses: Vec<Address>,
    /// Routes.
    pub(crate) routes: Vec<DefaultRoute>,
    /// Neighbours.
    pub(crate) neighbours: Vec<Neighbour>,
    /// Rules, last: nothing passes them while they are loaded.
    pub(crate) rules: Vec<Rules>,
}

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
            cables: Vec::new(),
            addresses: Vec::new(),
            routes: Vec::new(),
            neighbours: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Adds a namespace.
    pub(crate) fn space(&mut self, name: impl Into<String>, sysctls: &[Sysctl]) -> SpaceId {
        let family: &[Sysctl] = match self.family {
            Family::Ipv4 => &[],
            Family::Ipv6 => &IPV6,
        };
        let sysctls = [family, sysctls].concat();
        self.spaces.push(Space { name: name.into(), sysctls });
        SpaceId(self.spaces.len() - 1)
    }

    /// The name of a namespace.
    pub(crate) fn name(&self, space: SpaceId) -> &str {
        &self.spaces[space.0].name
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
        let neighbour = Neighbour {
            space,
            device: device.to_owned(),
            address: slot.address(self.family),
            mac: slot.mac(),
        };
        if !self.neighbours.contains(&neighbour) {
            self.neighbours.push(neighbour);
        }
    }
}
