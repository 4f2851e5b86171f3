//! Requests that the lab makes, each with its purpose.

use crate::plan::address::MacAddress;
use crate::tbf::TokenBucket;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;

/// Message to the kernel.
#[derive(Clone, Debug)]
pub(crate) struct NetlinkRequest {
    /// Purpose of the request, for the error if it fails.
    pub(super) what: String,
    /// `NLM_F_*` flags in addition to those of every request.
    pub(super) flags: u16,
    /// Message body.
    pub(super) message: RouteNetlinkMessage,
}

/// Bridge to create.
pub(crate) struct NewBridge<'a> {
    /// Name of the bridge.
    pub(crate) name: &'a str,
    /// Index in its namespace.
    pub(crate) index: u32,
    /// Link-layer address of the bridge. `None` leaves the choice to the kernel, whose address changes with the ports.
    pub(crate) mac: Option<MacAddress>,
    /// MTU, bytes.
    pub(crate) mtu: u32,
}

/// Flags of a message that creates an object which must not exist yet.
pub(super) const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;

impl NetlinkRequest {
    /// Creates a bridge and sets it up, without multicast snooping.
    pub(crate) fn create_bridge(place: &str, bridge: &NewBridge<'_>) -> Self {
        let mut link = device(bridge.name, bridge.index, bridge.mac, bridge.mtu);
        set_up(&mut link);
        link.attributes.push(snooping(false));
        Self {
            what: format!("create the bridge {place}:{}", bridge.name),
            flags: CREATE,
            message: RouteNetlinkMessage::NewLink(link),
        }
    }

    /// Enables multicast snooping on a bridge, which is the kernel's default. This is done once all ports exist: until
    /// then, for every port that comes up, the kernel starts again with every port that is up already
    /// (br_port_state_selection).
    pub(crate) fn enable_snooping(place: &str, name: &str, index: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![snooping(true)];
        Self {
            what: format!("enable multicast snooping on the bridge {place}:{name}"),
            flags: 0,
            message: RouteNetlinkMessage::NewLink(link),
        }
    }

    /// Sets a device up.
    pub(crate) fn bring_up(place: &str, name: &str, index: u32) -> Self {
        Self::attach_and_bring_up(place, name, index, None)
    }

    /// Attaches a device to the bridge or VRF of an index, if one is given, and sets it up.
    pub(crate) fn attach_and_bring_up(
        place: &str,
        name: &str,
        index: u32,
        controller: Option<u32>,
    ) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes.extend(controller.map(LinkAttribute::Controller));
        set_up(&mut link);
        Self {
            what: format!("set {place}:{name} up"),
            flags: 0,
            message: RouteNetlinkMessage::SetLink(link),
        }
    }

    /// Changes the MTU of a device.
    pub(crate) fn set_mtu(place: &str, name: &str, index: u32, mtu: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::Mtu(mtu)];
        Self {
            what: format!("set the MTU of {place}:{name} to {mtu}"),
            flags: 0,
            message: RouteNetlinkMessage::SetLink(link),
        }
    }

    /// Adds a token bucket to a device: all packets that leave by the device wait in it for their tokens.
    pub(crate) fn add_tbf(place: &str, name: &str, index: u32, bucket: &TokenBucket) -> Self {
        let mut message = TcMessage::default();
        message.header.index = index.cast_signed();
        message.header.parent = TcHandle::ROOT;
        let option = |(kind, value)| TcOption::Other(DefaultNla::new(kind, value));
        message.attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(bucket.attributes().into_iter().map(option).collect()),
        ];
        Self {
            what: format!("limit the rate of {place}:{name} to {}", bucket.rate),
            flags: CREATE,
            message: RouteNetlinkMessage::NewQueueDiscipline(message),
        }
    }

    /// Adds an address to a device. It is usable at once: an IPv6 address is not first probed for duplicates (RFC 4862,
    /// 5.4).
    pub(crate) fn add_address(place: &str, index: u32, address: IpAddr, prefix: u8) -> Self {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        Self {
            what: format!("add the address {address}/{prefix} in {place}"),
            flags: CREATE,
            message: RouteNetlinkMessage::NewAddress(message),
        }
    }

    /// Adds a permanent entry to the forwarding database of the bridge that a device is attached to: the address is
    /// behind the device (bridge(8), fdb).
    pub(crate) fn add_fdb_entry(place: &str, port: &str, index: u32, mac: MacAddress) -> Self {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Noarp;
        message.header.flags = NeighbourFlags::Controller;
        message.attributes = vec![NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec())];
        Self {
            what: format!("add the forwarding entry {mac} at the bridge port {port} in {place}"),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    /// Adds a permanent neighbour. Permanent neighbours do not count against the machine-wide limit (`gc_thresh3`).
    pub(crate) fn add_neighbour(place: &str, index: u32, address: IpAddr, mac: MacAddress) -> Self {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(address.into()),
            NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec()),
        ];
        Self {
            what: format!("add the neighbour {address} in {place}"),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }
}

/// Returns a message for a device to create, down.
pub(super) fn device(name: &str, index: u32, mac: Option<MacAddress>, mtu: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::Mtu(mtu)];
    link.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.bytes().to_vec())));
    link
}

/// Returns the attribute that switches a bridge's multicast snooping (RFC 4541).
fn snooping(on: bool) -> LinkAttribute {
    let data = InfoData::Bridge(vec![InfoBridge::MulticastSnooping(on)]);
    LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(data)])
}

/// Makes the device come up with the message.
pub(super) fn set_up(link: &mut LinkMessage) {
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
}

/// Returns the family of an address.
pub(super) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
