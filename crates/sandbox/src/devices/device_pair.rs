//! Device pairs across two namespaces: each device receives the packets that the other sends.

use super::controller_words;
use crate::NamespaceChange;
use crate::netlink::{
    CREATE, DeviceRef, MacAddress, NetlinkRequest, new_link, push_link_info, set_link_up,
};
use netlink_packet_route::link::{InfoData, InfoKind, LinkAttribute, LinkMessage};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};
use tare_network::HopKind;

/// Kind of a device pair.
pub trait DevicePairKind: fmt::Debug + Sync {
    /// Returns the kind, as ip-link(8) names it.
    fn name(&self) -> &'static str;

    /// Returns the kind of hop that each end is.
    fn hop_kind(&self) -> HopKind;

    /// Returns what a reader should know of each end beyond the kind of hop, if anything.
    fn detail(&self) -> Option<&'static str> {
        None
    }

    /// Returns the attributes of the kind for the kernel, with the message for the far end (`IFLA_LINKINFO`).
    fn link_info(&self, far: LinkMessage) -> (InfoKind, InfoData);
}

/// End of a pair to create.
#[derive(Clone, Copy, Debug)]
pub struct NewPairEnd<'a> {
    /// Name, and index in its namespace.
    pub device: DeviceRef<'a>,
    /// Link-layer address. `None` for a random one.
    pub mac: Option<MacAddress>,
    /// Bridge or VRF that the end is attached to, in the same namespace.
    pub controller: Option<DeviceRef<'a>>,
}

/// Pair to create: the near end in the namespace of the request, the far end in another.
#[derive(Clone, Copy, Debug)]
pub struct NewDevicePair<'a> {
    /// Kind of the pair.
    pub kind: &'a dyn DevicePairKind,
    /// End in the namespace of the request. It comes up at once.
    pub near: NewPairEnd<'a>,
    /// End in the other namespace. It is down, and not attached, until its [`NewPairEnd::attachment`].
    pub far: NewPairEnd<'a>,
    /// MTU of both ends, bytes.
    pub mtu: u32,
}

/// Queues of each end in each direction: as many as a pair uses by default. Without an explicit number it would have
/// room for one per core, and the kernel waits for all cores before it removes the others (veth_init_queues).
const QUEUES: u32 = 1;

impl NewDevicePair<'_> {
    /// Returns the request that creates the pair and attaches its near end, in one message. `far` is the namespace of
    /// the far end.
    #[must_use]
    pub fn request(&self, place: &str, far: BorrowedFd<'_>) -> NetlinkRequest {
        let mut peer = self.far.message(self.mtu);
        peer.attributes.push(LinkAttribute::NetNsFd(far.as_raw_fd()));
        let mut link = self.near.message(self.mtu);
        set_link_up(&mut link);
        let controller = self.near.controller.map(|one| LinkAttribute::Controller(one.index));
        link.attributes.extend(controller);
        let (kind, data) = self.kind.link_info(peer);
        push_link_info(&mut link, kind, data);
        let name = self.near.device.name;
        let what = format!("create the {} pair {place}:{name}", self.kind.name());
        NetlinkRequest::new_link(what, CREATE, link)
    }

    /// Returns the command that creates the pair and attaches its near end. `far` names the namespace of the far end.
    #[must_use]
    pub fn command(&self, place: &str, far: &str) -> String {
        format!(
            "ip -n {place} link add {}{} up type {} peer name {} netns {far}",
            self.near.words(self.mtu),
            controller_words(self.near.controller.as_ref()),
            self.kind.name(),
            self.far.words(self.mtu),
        )
    }
}

/// Controller of a device that exists. The device comes up with it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceAttachment<'a> {
    /// Device to attach.
    pub device: DeviceRef<'a>,
    /// Bridge or VRF, in the same namespace. `None` only sets the device up.
    pub controller: Option<DeviceRef<'a>>,
}

impl NamespaceChange for DeviceAttachment<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        NetlinkRequest::attach_and_bring_up(place, self.device, self.controller)
    }

    fn command(&self, place: &str) -> String {
        let controller = controller_words(self.controller.as_ref());
        format!("ip -n {place} link set {}{controller} up", self.device.name)
    }
}

impl<'a> NewPairEnd<'a> {
    /// Returns the attachment that a far end needs once the pair exists.
    #[must_use]
    pub fn attachment(&self) -> DeviceAttachment<'a> {
        DeviceAttachment { device: self.device, controller: self.controller }
    }

    fn message(&self, mtu: u32) -> LinkMessage {
        let mut link = new_link(self.device, self.mac, mtu);
        link.attributes.push(LinkAttribute::NumTxQueues(QUEUES));
        link.attributes.push(LinkAttribute::NumRxQueues(QUEUES));
        link
    }

    fn words(&self, mtu: u32) -> String {
        let mac = self.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
        format!("{}{mac} mtu {mtu}", self.device.name)
    }
}
