//! Requests to the kernel, each with its purpose.

use super::link::{DeviceRef, set_link_up};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::link::{LinkAttribute, LinkMessage, LinkXdp};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Message to the kernel.
#[derive(Clone, Debug)]
pub struct NetlinkRequest {
    /// Purpose of the request, for the error if it fails.
    pub(crate) what: String,
    /// `NLM_F_*` flags in addition to those of every request.
    pub(crate) flags: u16,
    /// Message body.
    pub(crate) message: RouteNetlinkMessage,
}

/// Flags of a message that creates an object which must not exist yet.
pub(crate) const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;

/// Handle of the hook for received packets (linux/pkt_sched.h, `TC_H_INGRESS`).
const INGRESS_HOOK: TcHandle = TcHandle { major: 0xffff, minor: 0 };

/// All protocols (linux/if_ether.h).
const ETH_P_ALL: u16 = 3;

/// Returns a message of traffic control about a queue or a filter of a device, below this parent.
fn tc_message(device: DeviceRef<'_>, parent: TcHandle, attributes: Vec<TcAttribute>) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = device.index.cast_signed();
    message.header.parent = parent;
    message.attributes = attributes;
    message
}

impl NetlinkRequest {
    /// Returns a request about a device, which is created if the flags say so.
    pub(crate) fn new_link(what: String, flags: u16, link: LinkMessage) -> Self {
        Self { what, flags, message: RouteNetlinkMessage::NewLink(link) }
    }

    /// Returns a request that changes a device.
    pub(crate) fn set_link(what: String, link: LinkMessage) -> Self {
        Self { what, flags: 0, message: RouteNetlinkMessage::SetLink(link) }
    }

    /// Returns a request that adds a queue in front of a device. The attributes are its kind and the kind's options.
    pub(crate) fn add_queue(
        what: String,
        device: DeviceRef<'_>,
        attributes: Vec<TcAttribute>,
    ) -> Self {
        let message = tc_message(device, TcHandle::ROOT, attributes);
        Self { what, flags: CREATE, message: RouteNetlinkMessage::NewQueueDiscipline(message) }
    }

    /// Returns a request that gives a device a hook for filters of the packets that it receives.
    pub(crate) fn add_ingress_hook(what: String, device: DeviceRef<'_>) -> Self {
        let attributes = vec![TcAttribute::Kind("ingress".to_owned())];
        let mut message = tc_message(device, TcHandle::INGRESS, attributes);
        message.header.handle = INGRESS_HOOK;
        Self { what, flags: CREATE, message: RouteNetlinkMessage::NewQueueDiscipline(message) }
    }

    /// Returns a request that adds a filter to the packets of all protocols that a device receives. The attributes are
    /// its kind and the kind's options; the kernel chooses its priority.
    pub(crate) fn add_ingress_filter(
        what: String,
        device: DeviceRef<'_>,
        attributes: Vec<TcAttribute>,
    ) -> Self {
        let mut message = tc_message(device, INGRESS_HOOK, attributes);
        message.header.info = u32::from(ETH_P_ALL.to_be());
        Self { what, flags: CREATE, message: RouteNetlinkMessage::NewTrafficFilter(message) }
    }

    /// Returns the request that attaches an XDP program to the driver of a device.
    pub(crate) fn attach_xdp(device: DeviceRef<'_>, program: BorrowedFd<'_>) -> Self {
        /// `XDP_FLAGS_DRV_MODE` of linux/if_link.h: in the driver, not after it.
        const IN_DRIVER: u32 = 1 << 2;
        let mut link = LinkMessage::default();
        link.header.index = device.index;
        let attributes = vec![LinkXdp::Fd(program.as_raw_fd()), LinkXdp::Flags(IN_DRIVER)];
        link.attributes = vec![LinkAttribute::Xdp(attributes)];
        Self::set_link(format!("attach an XDP program to {}", device.name), link)
    }

    /// Returns the request that sets a device up.
    pub(crate) fn bring_up(place: &str, device: DeviceRef<'_>) -> Self {
        Self::attach_and_bring_up(place, device, None)
    }

    /// Returns the request that attaches a device to a bridge or VRF, if one is given, and sets it up.
    pub(crate) fn attach_and_bring_up(
        place: &str,
        device: DeviceRef<'_>,
        controller: Option<DeviceRef<'_>>,
    ) -> Self {
        let mut link = LinkMessage::default();
        link.header.index = device.index;
        link.attributes.extend(controller.map(|one| LinkAttribute::Controller(one.index)));
        set_link_up(&mut link);
        Self::set_link(format!("set {place}:{} up", device.name), link)
    }
}

/// Returns the family of an address.
pub(crate) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
