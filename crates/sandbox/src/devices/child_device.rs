//! Child devices: devices that use another one, their parent.

use super::controller_words;
use crate::netlink::{
    CREATE, DeviceRef, MacAddress, NetlinkRequest, new_link, push_link_info, set_link_up,
};
use netlink_packet_route::link::{InfoData, InfoKind, LinkAttribute};
use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Role of a parent for its child device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentRole {
    /// The child shares the parent's link: `link PARENT` (`IFLA_LINK`).
    Link,
    /// The child is a tunnel, whose packets leave by the parent. The kind's own attributes name the parent, if any do.
    Underlay,
}

/// Kind of a child device: what it is for the kernel and for ip-link(8).
pub trait ChildDeviceKind: fmt::Debug + Send + Sync {
    /// Returns the attributes of the kind for the kernel (`IFLA_LINKINFO`). `parent` is the index of the parent.
    fn link_info(&self, parent: u32) -> (InfoKind, InfoData);

    /// Returns the words that follow `type` in ip-link(8). `parent` is the name of the parent.
    fn words(&self, parent: &str) -> String;

    /// Returns the role of the parent.
    fn parent_role(&self) -> ParentRole {
        ParentRole::Link
    }
}

/// Child device to create, by a request in the namespace of its parent.
#[derive(Clone, Copy, Debug)]
pub struct NewChildDevice<'a> {
    /// Kind of the device.
    pub kind: &'a dyn ChildDeviceKind,
    /// Name, and index in its namespace.
    pub device: DeviceRef<'a>,
    /// Parent, in the namespace of the request.
    pub parent: DeviceRef<'a>,
    /// Link-layer address. `None` leaves it to the kernel.
    pub mac: Option<MacAddress>,
    /// MTU, bytes.
    pub mtu: u32,
    /// Bridge or VRF that the device is attached to, in the device's namespace.
    pub controller: Option<DeviceRef<'a>>,
}

impl NewChildDevice<'_> {
    /// Returns the request that creates the device and sets it up. `place` names the device's namespace; `elsewhere` is
    /// that namespace if it is not the one of the request.
    #[must_use]
    pub fn request(&self, place: &str, elsewhere: Option<BorrowedFd<'_>>) -> NetlinkRequest {
        let mut link = new_link(self.device, self.mac, self.mtu);
        set_link_up(&mut link);
        if self.kind.parent_role() == ParentRole::Link {
            link.attributes.push(LinkAttribute::Link(self.parent.index));
        }
        let controller = self.controller.map(|one| LinkAttribute::Controller(one.index));
        link.attributes.extend(controller);
        link.attributes.extend(elsewhere.map(|it| LinkAttribute::NetNsFd(it.as_raw_fd())));
        let (info, data) = self.kind.link_info(self.parent.index);
        let what = format!("create the {info} device {place}:{}", self.device.name);
        push_link_info(&mut link, info, data);
        NetlinkRequest::new_link(what, CREATE, link)
    }

    /// Returns the commands that create the device, run in `from`, and set it up in `place`.
    ///
    /// A device in another namespace than its parent's gets an explicit index: a kernel before 6.15 mistakes the device
    /// of that name in the parent's namespace for the new one. A bridge or VRF is looked up in the namespace in which
    /// the command runs, so a device that is made from elsewhere is attached afterwards.
    #[must_use]
    pub fn commands(&self, from: &str, place: &str) -> Vec<String> {
        let mut words = format!("ip -n {from} link add");
        if self.kind.parent_role() == ParentRole::Link {
            words += &format!(" link {}", self.parent.name);
        }
        words += &format!(" name {}", self.device.name);
        words += &self.mac.map(|mac| format!(" address {mac}")).unwrap_or_default();
        words += &format!(" mtu {}", self.mtu);
        let attach = controller_words(self.controller.as_ref());
        let kind = self.kind.words(self.parent.name);
        if from == place {
            return vec![format!("{words}{attach} up type {kind}")];
        }
        let index = self.device.index;
        let create = format!("{words} index {index} netns {place} up type {kind}");
        let attached = format!("ip -n {place} link set {}{attach}", self.device.name);
        std::iter::once(create).chain(self.controller.map(|_| attached)).collect()
    }
}
