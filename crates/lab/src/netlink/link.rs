//! Single devices, which hang on another one or on nothing.

use super::Request;
use super::request::{CREATE, device, set_up};
use crate::wiring::{IpvlanMode, Link, LinkKind, MacvlanMode, Vrf};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoVlan, InfoVrf, IpVlanMode, LinkAttribute,
    LinkInfo, LinkMessage, MacVlanMode,
};
use std::os::fd::{AsRawFd, BorrowedFd};

/// A link to create.
pub(crate) struct NewLink<'a> {
    /// What it is, and its name.
    pub(crate) link: &'a Link,
    /// Its index in its namespace.
    pub(crate) index: u32,
    /// The index of its parent in the socket's namespace, where it has one.
    pub(crate) parent: Option<u32>,
    /// The index of the bridge or VRF that it is plugged into.
    pub(crate) controller: Option<u32>,
    /// Its namespace, where that is not the socket's.
    pub(crate) namespace: Option<BorrowedFd<'a>>,
    /// Bytes.
    pub(crate) mtu: u32,
}

impl Request {
    /// Creates a link, up, in its own namespace, by a socket in its parent's.
    pub(crate) fn link(place: &str, new: &NewLink<'_>) -> Self {
        let Link { name, mac, kind, .. } = new.link;
        let mut link = device(name, new.index, *mac, new.mtu);
        set_up(&mut link);
        if !matches!(kind, LinkKind::Tunnel { .. }) {
            link.attributes.extend(new.parent.map(LinkAttribute::Link));
        }
        link.attributes.extend(new.controller.map(LinkAttribute::Controller));
        link.attributes.extend(new.namespace.map(|it| LinkAttribute::NetNsFd(it.as_raw_fd())));
        let (info, data) = described(kind, new.parent);
        create(format!("create the {info} device {place}:{name}"), link, info, data)
    }

    /// Creates a VRF, up.
    pub(crate) fn vrf(place: &str, vrf: &Vrf, index: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::IfName(vrf.name.clone())];
        set_up(&mut link);
        let data = InfoData::Vrf(vec![InfoVrf::TableId(vrf.table)]);
        create(format!("create the VRF {place}:{}", vrf.name), link, InfoKind::Vrf, data)
    }
}

fn create(what: String, mut link: LinkMessage, kind: InfoKind, data: InfoData) -> Request {
    let info = vec![LinkInfo::Kind(kind), LinkInfo::Data(data)];
    link.attributes.push(LinkAttribute::LinkInfo(info));
    Request { what, flags: CREATE, message: RouteNetlinkMessage::NewLink(link) }
}

/// What tells the kernel of a link's kind; `parent` is the index of the device that it hangs on.
fn described(kind: &LinkKind, parent: Option<u32>) -> (InfoKind, InfoData) {
    match kind {
        LinkKind::Tunnel { wrap, .. } => super::tunnel::described(*wrap, parent),
        LinkKind::Macvlan { mode, .. } => {
            let mode = match mode {
                MacvlanMode::Bridge => MacVlanMode::Bridge,
            };
            (InfoKind::MacVlan, InfoData::MacVlan(vec![InfoMacVlan::Mode(mode)]))
        }
        LinkKind::Ipvlan { mode, .. } => {
            let mode = match mode {
                IpvlanMode::L2 => IpVlanMode::L2,
                IpvlanMode::L3 => IpVlanMode::L3,
            };
            (InfoKind::IpVlan, InfoData::IpVlan(vec![InfoIpVlan::Mode(mode)]))
        }
        LinkKind::Vlan { id, .. } => (InfoKind::Vlan, InfoData::Vlan(vec![InfoVlan::Id(*id)])),
    }
}
