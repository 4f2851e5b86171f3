//! Addresses of devices.

use crate::NamespaceChange;
use crate::netlink::{CREATE, DeviceRef, NetlinkRequest, family};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use std::net::IpAddr;

/// Address to add to a device. It is usable at once: an IPv6 address is not first probed for duplicates (RFC 4862,
/// 5.4).
#[derive(Clone, Copy, Debug)]
pub struct NewAddress<'a> {
    /// Device that gets the address.
    pub device: DeviceRef<'a>,
    /// IP address.
    pub address: IpAddr,
    /// Length of the network's prefix, bits.
    pub prefix: u8,
}

impl NamespaceChange for NewAddress<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let Self { device, address, prefix } = *self;
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = device.index;
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        NetlinkRequest {
            what: format!("add the address {address}/{prefix} in {place}"),
            flags: CREATE,
            message: RouteNetlinkMessage::NewAddress(message),
        }
    }

    fn command(&self, place: &str) -> String {
        let Self { device, address, prefix } = self;
        let nodad = if address.is_ipv6() { " nodad" } else { "" };
        format!("ip -n {place} address add {address}/{prefix} dev {}{nodad}", device.name)
    }
}
