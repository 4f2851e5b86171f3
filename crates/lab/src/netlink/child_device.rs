//! Requests for single devices, with or without a parent.

use super::NetlinkRequest;
use super::request::{CREATE, device, set_up};
use crate::plan::wiring::{ChildDevice, ChildDeviceKind, IpvlanMode, MacvlanMode, VrfDevice};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoVlan, InfoVrf, IpVlanMode, LinkAttribute,
    LinkInfo, LinkMessage, MacVlanMode,
};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Device to create.
pub(crate) struct NewChildDevice<'a> {
    /// Kind and name of the device.
    pub(crate) link: &'a ChildDevice,
    /// Index in its namespace.
    pub(crate) index: u32,
    /// Index of its parent in the socket's namespace, if it has a parent.
    pub(crate) parent: Option<u32>,
    /// Index of the bridge or VRF that it is attached to.
    pub(crate) controller: Option<u32>,
    /// Namespace of the device, if that is not the socket's.
    pub(crate) namespace: Option<BorrowedFd<'a>>,
    /// MTU, bytes.
    pub(crate) mtu: u32,
}

impl NetlinkRequest {
    /// Creates a device in its own namespace and sets it up, through a socket in its parent's namespace.
    pub(crate) fn create_child_device(place: &str, new: &NewChildDevice<'_>) -> Self {
        let ChildDevice { name, mac, kind, .. } = new.link;
        let mut link = device(name, new.index, *mac, new.mtu);
        set_up(&mut link);
        if !matches!(kind, ChildDeviceKind::Tunnel { .. }) {
            link.attributes.extend(new.parent.map(LinkAttribute::Link));
        }
        link.attributes.extend(new.controller.map(LinkAttribute::Controller));
        link.attributes.extend(new.namespace.map(|it| LinkAttribute::NetNsFd(it.as_raw_fd())));
        let (info, data) = device_info(kind, new.parent);
        create(format!("create the {info} device {place}:{name}"), link, info, data)
    }

    /// Creates a VRF and sets it up.
    pub(crate) fn create_vrf(place: &str, vrf: &VrfDevice, index: u32) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::IfName(vrf.name.clone())];
        set_up(&mut link);
        let data = InfoData::Vrf(vec![InfoVrf::TableId(vrf.table)]);
        create(format!("create the VRF {place}:{}", vrf.name), link, InfoKind::Vrf, data)
    }
}

fn create(what: String, mut link: LinkMessage, kind: InfoKind, data: InfoData) -> NetlinkRequest {
    let info = vec![LinkInfo::Kind(kind), LinkInfo::Data(data)];
    link.attributes.push(LinkAttribute::LinkInfo(info));
    NetlinkRequest { what, flags: CREATE, message: RouteNetlinkMessage::NewLink(link) }
}

/// Returns the netlink attributes of a device's kind. `parent` is the index of its parent device.
fn device_info(kind: &ChildDeviceKind, parent: Option<u32>) -> (InfoKind, InfoData) {
    match kind {
        ChildDeviceKind::Tunnel { wrap, .. } => super::tunnel::tunnel_info(*wrap, parent),
        ChildDeviceKind::Macvlan { mode, .. } => {
            let mode = match mode {
                MacvlanMode::Bridge => MacVlanMode::Bridge,
            };
            (InfoKind::MacVlan, InfoData::MacVlan(vec![InfoMacVlan::Mode(mode)]))
        }
        ChildDeviceKind::Ipvlan { mode, .. } => {
            let mode = match mode {
                IpvlanMode::L2 => IpVlanMode::L2,
                IpvlanMode::L3 => IpVlanMode::L3,
            };
            (InfoKind::IpVlan, InfoData::IpVlan(vec![InfoIpVlan::Mode(mode)]))
        }
        ChildDeviceKind::Vlan { id, .. } => {
            (InfoKind::Vlan, InfoData::Vlan(vec![InfoVlan::Id(*id)]))
        }
    }
}
