//! Linux bridges.

use crate::NamespaceChange;
use crate::netlink::{CREATE, DeviceRef, MacAddress, NetlinkRequest, new_link, set_link_up};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, LinkAttribute, LinkInfo, LinkMessage,
};

/// Bridge to create. It comes up at once, without multicast snooping ([`NewBridge::snooping_request`]).
#[derive(Clone, Copy, Debug)]
pub struct NewBridge<'a> {
    /// Name, and index in its namespace.
    pub device: DeviceRef<'a>,
    /// Link-layer address of the bridge. `None` leaves the choice to the kernel, whose address changes with the ports.
    pub mac: Option<MacAddress>,
    /// MTU, bytes.
    pub mtu: u32,
}

impl NamespaceChange for NewBridge<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let mut link = new_link(self.device, self.mac, self.mtu);
        set_link_up(&mut link);
        link.attributes.push(snooping(false));
        let what = format!("create the bridge {place}:{}", self.device.name);
        NetlinkRequest::new_link(what, CREATE, link)
    }

    fn command(&self, place: &str) -> String {
        let mac = self.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
        format!("ip -n {place} link add {}{mac} mtu {} up type bridge", self.device.name, self.mtu)
    }
}

impl NewBridge<'_> {
    /// Returns the request that enables multicast snooping, which is the kernel's default. This is done once all ports
    /// exist: until then, for every port that comes up, the kernel starts again with every port that is up already
    /// (br_port_state_selection). A bridge that a command creates snoops from the start.
    #[must_use]
    pub fn snooping_request(&self, place: &str) -> NetlinkRequest {
        let mut link = LinkMessage::default();
        link.header.index = self.device.index;
        link.attributes = vec![snooping(true)];
        let what = format!("enable multicast snooping on the bridge {place}:{}", self.device.name);
        NetlinkRequest::new_link(what, 0, link)
    }
}

/// MTU of a bridge, to be restored: the kernel lowered it when a port was added.
#[derive(Clone, Copy, Debug)]
pub struct BridgeMtu<'a> {
    /// Bridge.
    pub device: DeviceRef<'a>,
    /// MTU, bytes.
    pub mtu: u32,
}

impl NamespaceChange for BridgeMtu<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let mut link = LinkMessage::default();
        link.header.index = self.device.index;
        link.attributes = vec![LinkAttribute::Mtu(self.mtu)];
        let what = format!("set the MTU of {place}:{} to {}", self.device.name, self.mtu);
        NetlinkRequest::set_link(what, link)
    }

    fn command(&self, place: &str) -> String {
        format!("ip -n {place} link set {} mtu {}", self.device.name, self.mtu)
    }
}

/// Returns the attribute that switches a bridge's multicast snooping (RFC 4541).
fn snooping(on: bool) -> LinkAttribute {
    let data = InfoData::Bridge(vec![InfoBridge::MulticastSnooping(on)]);
    LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(data)])
}
