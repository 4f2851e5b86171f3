//! Wiring of a network, as data: namespaces, bridges, device pairs, child devices, addresses, routes, settings, rules,
//! programs.
//!
//! A network describes itself once, as a [`Wiring`]. From this one description the lab builds the network
//! ([`crate::build`]) and prints the commands by which a reader can build it ([`crate::shell`]). Both go through its
//! [`KernelObjects`] in one order, and each object knows its own request and command, so that the two cannot drift
//! apart.

mod adoption;
mod carrier;
mod child_device;
mod device;
mod device_indices;
mod ebpf_redirect;
mod fdb_entry;
mod impairment;
mod kernel_objects;
mod redirection;
mod route;
mod setting;

pub(crate) use crate::plan::namespace_id::NamespaceId;
pub(crate) use adoption::Adoption;
pub(crate) use carrier::{Carrier, HeldEndpoint};
pub(crate) use child_device::{ChildDevice, ParentDevice};
pub(crate) use device::{DevicePair, DevicePairEnd, LinuxBridge, VrfDevice};
pub(crate) use ebpf_redirect::{PlannedRedirect, XdpReceiver};
pub(crate) use fdb_entry::{FdbEntry, VxlanFdbEntry};
pub(crate) use impairment::Impairment;
pub(crate) use kernel_objects::{KernelObjects, Objects};
pub(crate) use redirection::{RateLimit, Redirection};
pub(crate) use route::IpRoute;
pub(crate) use setting::DeviceSysctl;

use crate::plan::address::{InterfaceSlot, prefix_length};
use crate::plan::namespace_id::NODE_PREFIX;
use crate::programs::{PacketCounter, Program};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::Family;
use tare_sandbox::Sysctl;
use tare_sandbox::netlink::MacAddress;

/// Network namespace of a wiring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedNamespace {
    /// Name of the namespace.
    pub(crate) name: String,
    /// Sysctls, set before the namespace has any device but `lo`.
    pub(crate) sysctls: Vec<Sysctl>,
    /// Environment variables of the programs in the namespace.
    pub(crate) environment: Vec<(String, String)>,
    /// Names that programs in the namespace can resolve if they have a private hosts file.
    pub(crate) names: Vec<(String, IpAddr)>,
    /// Program that makes the namespace. `None` if the lab makes it.
    pub(crate) adopted: Option<Adoption>,
}

/// Address of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceAddress {
    /// Namespace of the device.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: String,
    /// IP address.
    pub(crate) address: IpAddr,
    /// Length of the network's prefix, bits.
    pub(crate) prefix: u8,
}

/// Permanent neighbour entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Neighbour {
    /// Namespace that has the entry.
    pub(crate) space: NamespaceId,
    /// Name of the device.
    pub(crate) device: String,
    /// IP address of the neighbour.
    pub(crate) address: IpAddr,
    /// Link-layer address of the neighbour.
    pub(crate) mac: MacAddress,
}

/// Netfilter rules of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ruleset {
    /// Namespace of the rules.
    pub(crate) space: NamespaceId,
    /// Text of the rules, as nft(8) reads it.
    pub(crate) text: String,
}

/// Wiring of a network.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    /// IP family of every address.
    pub(crate) family: Family,
    /// MTU of every device except `lo` that has no other, bytes.
    pub(crate) mtu: u32,
    /// Network namespaces, by [`NamespaceId`].
    pub(crate) spaces: Vec<PlannedNamespace>,
    /// Linux bridges.
    pub(crate) bridges: Vec<LinuxBridge>,
    /// VRF devices.
    pub(crate) vrfs: Vec<VrfDevice>,
    /// Device pairs.
    pub(crate) device_pairs: Vec<DevicePair>,
    /// Child devices, each after its parent.
    pub(crate) child_devices: Vec<ChildDevice>,
    /// Devices with an impairment.
    pub(crate) impairments: Vec<Impairment>,
    /// Devices with a rate limit of their own.
    pub(crate) rate_limits: Vec<RateLimit>,
    /// Devices whose received packets leave by another device.
    pub(crate) redirections: Vec<Redirection>,
    /// Redirections among the veth pairs of nodes, by eBPF programs.
    pub(crate) redirects: Vec<PlannedRedirect>,
    /// Namespaces whose sockets redirect to one another what they send, by eBPF programs.
    pub(crate) socket_redirects: Vec<NamespaceId>,
    /// Devices that receive packets from XDP programs.
    pub(crate) xdp_receivers: Vec<XdpReceiver>,
    /// Settings that are written when the devices exist.
    pub(crate) settings: Vec<DeviceSysctl>,
    /// Addresses of devices.
    pub(crate) addresses: Vec<InterfaceAddress>,
    /// Routes, each after those by which its gateway is reached.
    pub(crate) routes: Vec<IpRoute>,
    /// Permanent neighbour entries.
    pub(crate) neighbours: Vec<Neighbour>,
    /// Forwarding entries of VXLAN devices.
    pub(crate) vxlan_fdb_entries: Vec<VxlanFdbEntry>,
    /// Static entries in the forwarding databases of bridges.
    pub(crate) fdb_entries: Vec<FdbEntry>,
    /// Neighbour entries as a set, to find one quickly among many.
    known_neighbours: HashSet<Neighbour>,
    /// Rules, loaded into the kernel last: no packet passes them while they are loaded.
    pub(crate) rules: Vec<Ruleset>,
    /// Devices without transmit offloads: their packets have checksums, and are no larger than the MTU. A program that
    /// takes packets at the other end does not do what the kernel would.
    pub(crate) without_tx_offload: Vec<(NamespaceId, String)>,
    /// Programs, started when everything else exists.
    pub(crate) programs: Vec<Program>,
    /// Programs that report how many packets have passed them.
    pub(crate) counters: Vec<PacketCounter>,
    /// Processes that must carry the traffic.
    pub(crate) carriers: Vec<Carrier>,
}

/// Returns the address of a machine that has no other.
pub(crate) fn loopback(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    }
}

/// Sysctl of a namespace that uses IPv4. Its devices have no IPv6, as with Docker: their link-local packets (RFC 4862,
/// RFC 3810) would go to every port of a bridge.
const IPV4: [Sysctl; 1] = [Sysctl::if_there("net.ipv6.conf.default.disable_ipv6", "1")];

/// Sysctls of a namespace that uses IPv6: IPv6 is on, and duplicate address detection is off.
const IPV6: [Sysctl; 2] = [
    Sysctl::required("net.ipv6.conf.all.disable_ipv6", "0"),
    Sysctl::required("net.ipv6.conf.default.accept_dad", "0"),
];

/// Sysctl of every namespace: a connection that rests between two slices of a woven trial keeps its window.
const LASTING: [Sysctl; 1] = [Sysctl::if_there("net.ipv4.tcp_slow_start_after_idle", "0")];

/// Sysctl of the congestion control of connections whose program chooses none.
const DEFAULT_CONGESTION: &str = "net.ipv4.tcp_congestion_control";

impl Wiring {
    /// Returns an empty wiring.
    pub(crate) fn new(family: Family, mtu: u32) -> Self {
        Self {
            family,
            mtu,
            spaces: Vec::new(),
            bridges: Vec::new(),
            vrfs: Vec::new(),
            device_pairs: Vec::new(),
            child_devices: Vec::new(),
            impairments: Vec::new(),
            rate_limits: Vec::new(),
            redirections: Vec::new(),
            redirects: Vec::new(),
            socket_redirects: Vec::new(),
            xdp_receivers: Vec::new(),
            settings: Vec::new(),
            addresses: Vec::new(),
            routes: Vec::new(),
            neighbours: Vec::new(),
            vxlan_fdb_entries: Vec::new(),
            fdb_entries: Vec::new(),
            known_neighbours: HashSet::new(),
            rules: Vec::new(),
            without_tx_offload: Vec::new(),
            programs: Vec::new(),
            counters: Vec::new(),
            carriers: Vec::new(),
        }
    }

    /// Adds a namespace. Returns its index.
    pub(crate) fn add_namespace(
        &mut self,
        name: impl Into<String>,
        sysctls: &[Sysctl],
    ) -> NamespaceId {
        let family: &[Sysctl] = match self.family {
            Family::Ipv4 => &IPV4,
            Family::Ipv6 => &IPV6,
        };
        let sysctls = [family, &LASTING, sysctls].concat();
        let (environment, names) = (Vec::new(), Vec::new());
        let (name, adopted) = (name.into(), None);
        self.spaces.push(PlannedNamespace { name, sysctls, environment, names, adopted });
        NamespaceId(self.spaces.len() - 1)
    }

    /// Sets the default TCP congestion control of every namespace so far. `None` leaves the kernel's.
    pub(crate) fn set_default_congestion(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        // A kernel without the setting has one default for all namespaces (Linux before 4.15).
        let value = name.to_owned().into();
        let setting = Sysctl { value, ..Sysctl::if_there(DEFAULT_CONGESTION, "") };
        for space in &mut self.spaces {
            space.sysctls.push(setting.clone());
        }
    }

    /// Returns the name of a namespace.
    pub(crate) fn name(&self, space: NamespaceId) -> &str {
        &self.spaces[space.0].name
    }

    /// Returns the nodes, each with its first address, which identifies it to the others.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NamespaceId, IpAddr)> {
        let spaces = (0..self.spaces.len()).map(NamespaceId);
        spaces.filter(|&space| self.name(space).starts_with(NODE_PREFIX)).map(|node| {
            let first = self.addresses.iter().find(|address| address.space == node);
            (node, first.map_or(loopback(self.family), |first| first.address))
        })
    }

    /// Returns every device except `lo`, with its namespace, in the order in which they are made.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (NamespaceId, &str)> {
        let bridges = self.bridges.iter().map(|one| (one.space, one.name.as_str()));
        let vrfs = self.vrfs.iter().map(|one| (one.space, one.name.as_str()));
        let ends = self.device_pairs.iter().flat_map(DevicePair::ends);
        let ends = ends.map(|one| (one.space, one.device.as_str()));
        let links = self.child_devices.iter().map(|one| (one.space, one.name.as_str()));
        bridges.chain(vrfs).chain(ends).chain(links)
    }

    /// Adds a bridge. It has a link-layer address of the plan if it has an IP address.
    pub(crate) fn add_bridge(&mut self, space: NamespaceId, name: &str, mac: Option<MacAddress>) {
        self.bridges.push(LinuxBridge { space, name: name.to_owned(), mac, mtu: None });
    }

    /// Returns the bridges whose MTU is larger than that of one of their ports, each with its MTU: the kernel lowers it
    /// when ports are added.
    pub(crate) fn wide_bridges(&self) -> impl Iterator<Item = (&LinuxBridge, u32)> {
        let narrow = |bridge: &LinuxBridge, mtu: u32| {
            let plugged = |end: &&DevicePairEnd| {
                end.space == bridge.space && end.controller.as_ref() == Some(&bridge.name)
            };
            let narrower = |cable: &DevicePair| {
                cable.mtu.unwrap_or(self.mtu) < mtu && cable.ends().iter().any(plugged)
            };
            self.device_pairs.iter().any(narrower)
        };
        self.bridges
            .iter()
            .filter_map(|bridge| Some((bridge, bridge.mtu?)))
            .filter(move |(bridge, mtu)| narrow(bridge, *mtu))
    }

    /// Adds the slot's address to a device.
    pub(crate) fn add_address(&mut self, space: NamespaceId, device: &str, slot: InterfaceSlot) {
        self.addresses.push(InterfaceAddress {
            space,
            device: device.to_owned(),
            address: slot.address(self.family),
            prefix: prefix_length(self.family),
        });
    }

    /// Adds a permanent neighbour entry for the slot with its link-layer address.
    pub(crate) fn add_neighbour(&mut self, space: NamespaceId, device: &str, slot: InterfaceSlot) {
        self.add_neighbour_at(space, device, slot, slot.mac());
    }

    /// Adds a permanent neighbour entry for the slot with another link-layer address.
    pub(crate) fn add_neighbour_at(
        &mut self,
        space: NamespaceId,
        device: &str,
        slot: InterfaceSlot,
        mac: MacAddress,
    ) {
        let neighbour =
            Neighbour { space, device: device.to_owned(), address: slot.address(self.family), mac };
        if self.known_neighbours.insert(neighbour.clone()) {
            self.neighbours.push(neighbour);
        }
    }
}
