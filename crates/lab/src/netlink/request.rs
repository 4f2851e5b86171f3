//! The requests that the lab makes, each with what it is for.

use crate::address::Mac;
use crate::bucket::TokenBucket;
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

/// One message to the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// What it does, for the one who reads that it failed.
    pub(super) what: String,
    /// `NLM_F_*` beside those of every request.
    pub(super) flags: u16,
    /// The message.
    pub(super) message: RouteNetlinkMessage,
}

/// A bridge to create.
pub(crate) struct NewBridge<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its index in its namespace.
    pub(crate) index: u32,
    /// Its own link-layer address; the kernel's choice otherwise, which changes with the ports.
    pub(crate) mac: Option<Mac>,
    /// Bytes.
    pub(crate) mtu: u32,
}

/// Flags of a message that makes something which must not be there yet.
pub(super) const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;

impl Request {
    /// Creates a bridge, up, that does not snoop on multicast groups yet.
    pub(crate) fn bridge(place: &str, bridge: &NewBridge<'_>) -> Self {
        let mut link = device(bridge.name, bridge.index, bridge.mac, bridge.mtu);
        set_up(&mut link);
        link.attributes.push(snooping(false));
        Self {
            what: format!("create the bridge {place}:{}", bridge.name),
            flags: CREATE,
            message: RouteNetlinkMessage::NewLink(link),
        }
    }

    /// Has a bridge snoop on multicast groups, as it does by itself. Done once all ports are there: until then every port
    /// that comes up has the kernel begin anew with each that is up already (br_port_state_selection).
    pub(crate) fn snoop(place: &str, name: &str, index: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![snooping(true)];
        Self {
            what: format!("have the bridge {place}:{name} snoop on multicast groups"),
            flags: 0,
            message: RouteNetlinkMessage::NewLink(link),
        }
    }

    /// Sets a device up.
    pub(crate) fn up(place: &str, name: &str, index: u32) -> Self {
        Self::up_in(place, name, index, None)
    }

    /// Plugs a device into the bridge or VRF of an index, where one is given, and sets it up.
    pub(crate) fn up_in(place: &str, name: &str, index: u32, controller: Option<u32>) -> Self {
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

    /// Gives a device another MTU.
    pub(crate) fn mtu(place: &str, name: &str, index: u32, mtu: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::Mtu(mtu)];
        Self {
            what: format!("give {place}:{name} an MTU of {mtu}"),
            flags: 0,
            message: RouteNetlinkMessage::SetLink(link),
        }
    }

    /// Puts a token bucket in front of a device: all that leaves by it waits there for its turn.
    pub(crate) fn queue(place: &str, name: &str, index: u32, bucket: &TokenBucket) -> Self {
        let mut message = TcMessage::default();
        message.header.index = index.cast_signed();
        message.header.parent = TcHandle::ROOT;
        let option = |(kind, value)| TcOption::Other(DefaultNla::new(kind, value));
        message.attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(bucket.attributes().into_iter().map(option).collect()),
        ];
        Self {
            what: format!("limit {place}:{name} to {}", bucket.rate),
            flags: CREATE,
            message: RouteNetlinkMessage::NewQueueDiscipline(message),
        }
    }

    /// Gives a device an address, usable at once: an IPv6 address is not first probed for duplicates (RFC 4862, 5.4).
    pub(crate) fn address(place: &str, index: u32, address: IpAddr, prefix: u8) -> Self {
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
            what: format!("give {address}/{prefix} to {place}"),
            flags: CREATE,
            message: RouteNetlinkMessage::NewAddress(message),
        }
    }

    /// Lets the bridge that a device is plugged into know for good that an address is behind it (bridge(8), fdb).
    pub(crate) fn station(place: &str, port: &str, index: u32, mac: Mac) -> Self {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Noarp;
        message.header.flags = NeighbourFlags::Controller;
        message.attributes = vec![NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec())];
        Self {
            what: format!("let {place}'s bridge know {mac} behind {port}"),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }

    /// Enters a neighbour for good. Permanent neighbours do not count against the machine-wide limit (`gc_thresh3`).
    pub(crate) fn neighbour(place: &str, index: u32, address: IpAddr, mac: Mac) -> Self {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(address.into()),
            NeighbourAttribute::LinkLayerAddress(mac.bytes().to_vec()),
        ];
        Self {
            what: format!("enter the neighbour {address} in {place}"),
            flags: NLM_F_CREATE | NLM_F_REPLACE,
            message: RouteNetlinkMessage::NewNeighbour(message),
        }
    }
}

/// A device to create, down.
pub(super) fn device(name: &str, index: u32, mac: Option<Mac>, mtu: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::Mtu(mtu)];
    link.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.bytes().to_vec())));
    link
}

/// Whether a bridge snoops on multicast groups (RFC 4541).
fn snooping(on: bool) -> LinkAttribute {
    let data = InfoData::Bridge(vec![InfoBridge::MulticastSnooping(on)]);
    LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(data)])
}

/// Has the device come up with the message.
pub(super) fn set_up(link: &mut LinkMessage) {
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
}

/// The family of an address.
pub(super) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
