//! The requests that the lab makes, each with what it is for.

use crate::address::Mac;
use crate::bucket::TokenBucket;
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

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

/// One end of a veth pair to create.
pub(crate) struct PairEnd<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its index in its namespace.
    pub(crate) index: u32,
    /// Its link-layer address; a random one otherwise.
    pub(crate) mac: Option<Mac>,
}

/// A veth pair to create: its near end in the socket's own namespace, its far end in another.
pub(crate) struct NewPair<'a> {
    /// The end in the socket's namespace; it comes up at once.
    pub(crate) near: PairEnd<'a>,
    /// The index of the bridge that the near end is plugged into.
    pub(crate) bridge: Option<u32>,
    /// The end in the other namespace; it is down until it is set up there.
    pub(crate) far: PairEnd<'a>,
    /// The other namespace.
    pub(crate) namespace: BorrowedFd<'a>,
    /// Of both ends, bytes.
    pub(crate) mtu: u32,
}

const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;

impl Request {
    /// Creates a bridge, up.
    pub(crate) fn bridge(place: &str, bridge: &NewBridge<'_>) -> Self {
        let mut link = device(bridge.name, bridge.index, bridge.mac, bridge.mtu);
        set_up(&mut link);
        link.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge)]));
        Self {
            what: format!("create the bridge {place}:{}", bridge.name),
            flags: CREATE,
            message: RouteNetlinkMessage::NewLink(link),
        }
    }

    /// Creates a veth pair across two namespaces and plugs its near end in, all in one message.
    pub(crate) fn pair(place: &str, pair: &NewPair<'_>) -> Self {
        let mut far = device(pair.far.name, pair.far.index, pair.far.mac, pair.mtu);
        far.attributes.push(LinkAttribute::NetNsFd(pair.namespace.as_raw_fd()));
        let mut near = device(pair.near.name, pair.near.index, pair.near.mac, pair.mtu);
        set_up(&mut near);
        near.attributes.extend(pair.bridge.map(LinkAttribute::Controller));
        near.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
        ]));
        Self {
            what: format!("create the veth pair {place}:{}", pair.near.name),
            flags: CREATE,
            message: RouteNetlinkMessage::NewLink(near),
        }
    }

    /// Sets a device up.
    pub(crate) fn up(place: &str, name: &str, index: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        set_up(&mut link);
        Self {
            what: format!("set {place}:{name} up"),
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

    /// Routes everything through a gateway.
    pub(crate) fn default_route(place: &str, gateway: IpAddr) -> Self {
        let mut message = RouteMessage::default();
        message.header.address_family = family(gateway);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![RouteAttribute::Gateway(gateway.into())];
        Self {
            what: format!("route {place} through {gateway}"),
            flags: CREATE,
            message: RouteNetlinkMessage::NewRoute(message),
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

fn device(name: &str, index: u32, mac: Option<Mac>, mtu: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::Mtu(mtu)];
    link.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.bytes().to_vec())));
    link
}

fn set_up(link: &mut LinkMessage) {
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
