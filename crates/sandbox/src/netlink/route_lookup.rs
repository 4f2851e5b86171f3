//! Lookup of routes: the kernel's answer to which way a packet would go, without a packet.

use super::{NetlinkSocket, family};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{RouteAttribute, RouteMessage};
use std::io;
use std::net::IpAddr;
use tare_network::Error;

impl NetlinkSocket {
    /// Returns `true` if a packet to the address has a route. No packet is sent.
    ///
    /// # Errors
    /// The kernel does not answer, or not as rtnetlink(7) says.
    pub fn has_route(&mut self, to: IpAddr) -> Result<bool, Error> {
        let mut route = RouteMessage::default();
        route.header.address_family = family(to);
        route.header.destination_prefix_length = if to.is_ipv4() { 32 } else { 128 };
        route.attributes = vec![RouteAttribute::Destination(to.into())];
        match self.acknowledged(RouteNetlinkMessage::GetRoute(route), 0) {
            Ok(()) => Ok(true),
            Err(error) if is_without_route(&error) => Ok(false),
            Err(error) => Err(Error::new(format!("look up the route to {to}"), error)),
        }
    }
}

/// Returns `true` if an error says that there is no route, or that the route leads nowhere.
fn is_without_route(error: &io::Error) -> bool {
    const NONE: [i32; 3] = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES];
    error.raw_os_error().is_some_and(|number| NONE.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn every_machine_has_a_route_to_itself() {
        let mut socket = NetlinkSocket::open().unwrap();
        assert!(socket.has_route(Ipv4Addr::LOCALHOST.into()).unwrap());
    }

    #[test]
    fn an_unreachable_network_is_no_failure() {
        let error = io::Error::from_raw_os_error;
        assert!(is_without_route(&error(libc::ENETUNREACH)));
        assert!(!is_without_route(&error(libc::EPERM)));
    }
}
