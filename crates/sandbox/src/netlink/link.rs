//! Messages about devices, which rtnetlink(7) calls links.

use super::MacAddress;
use netlink_packet_route::link::{
    InfoData, InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};

/// Name of a device, and its index in its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRef<'a> {
    /// Name, by which commands refer to the device.
    pub name: &'a str,
    /// Index, by which the kernel refers to the device (if_nametoindex(3)).
    pub index: u32,
}

impl DeviceRef<'static> {
    /// Loopback device, the first device of every network namespace.
    pub const LOOPBACK: Self = Self { name: "lo", index: 1 };
}

/// Returns a message for a device to create, down.
pub(crate) fn new_link(device: DeviceRef<'_>, mac: Option<MacAddress>, mtu: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = device.index;
    link.attributes = vec![LinkAttribute::IfName(device.name.to_owned()), LinkAttribute::Mtu(mtu)];
    link.attributes.extend(mac.map(|mac| LinkAttribute::Address(mac.bytes().to_vec())));
    link
}

/// Makes the device come up with the message.
pub(crate) fn set_link_up(link: &mut LinkMessage) {
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
}

/// Adds the attributes of the device's kind to the message.
pub(crate) fn push_link_info(link: &mut LinkMessage, kind: InfoKind, data: InfoData) {
    link.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]));
}
